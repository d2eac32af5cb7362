//! What a list is asked for.

use protocol::refund::Status;
use sendonce_http::{Fault, Problem, list::Asked, query};
use store::RefundCursor;

/// Reads the query: `status`, and optionally `limit` and `cursor`.
///
/// # Errors
/// 400 validation_failed, with every fault.
pub(crate) fn asked(query: Option<&str>) -> Result<(Status, Asked<RefundCursor>), Problem> {
    // What is not UTF-8 is no word of ours either.
    let status = query::first(query, "status").map(Result::unwrap_or_default).and_then(|word| Status::parse(&word));
    let status = status.ok_or_else(|| Fault::at("", "Give the query parameter status: pending, approved or rejected."));
    Asked::read_with(query, RefundCursor::parse, status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_required_and_the_rest_has_bounds() {
        let read = |query: &str| asked(Some(query)).map(|(status, asked)| (status, asked.limit, asked.after));
        assert_eq!(read("status=pending").unwrap(), (Status::Pending, 20, None));
        assert_eq!(read("status=rejected&limit=100&x=y").unwrap(), (Status::Rejected, 100, None));
        for (wrong, faults) in [
            ("", 1),
            ("status=Pending", 1),
            ("status=", 1),
            ("status=approved&limit=0", 1),
            ("status=approved&limit=101", 1),
            ("status=approved&limit=%2B1", 1),
            ("status=approved&limit=", 1),
            ("status=approved&cursor=", 1),
            ("status=%FF&limit=x&cursor=%zz", 3),
        ] {
            let problem = read(wrong).unwrap_err();
            assert_eq!((problem.status(), problem.errors().len()), (400, faults), "{wrong}");
        }
    }
}
