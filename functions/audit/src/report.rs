//! What an invocation says of itself: to its caller, to the log, and as a command's exit code.

use platform::events;
use protocol::machine::audit::{Ended, Report};
use serde_json::{Value, json};

/// Exit code of a command that found nothing.
pub const EXIT_NOTHING_FOUND: u8 = 0;
/// Exit code of a command that did not come to the end. A main that fails before the audit begins ends with the same.
pub const EXIT_FAILED: u8 = 1;
/// Exit code of a command that came to the end and enqueued again what should have had a copy, or found what only a person
/// can repair. Payouts on which the provider takes its time are enqueued too, and are nothing wrong.
pub const EXIT_FOUND: u8 = 3;

/// The report as JSON: `scanned` items, `messages` in range among them, copies `enqueued` by reason, how many
/// `payouts_in_review` wait for a person, `not_repaired` (items that cannot be read, copies that SQS refuses), whether the pass is `finished`, and in a word how the
/// invocation `ended`.
#[must_use]
pub fn report_json(report: &Report) -> Value {
    json!({
        "scanned": report.scanned,
        "messages": report.messages,
        "enqueued": {
            "no_delivery_item": report.no_delivery_item,
            "stuck_in_flight": report.stuck_in_flight,
            "stuck_retry": report.stuck_retry,
            "payouts_due": report.payouts_due,
            "payouts_submitted": report.payouts_submitted,
        },
        "payouts_in_review": report.payouts_in_review,
        "not_repaired": report.not_repaired,
        "finished": report.ended == Ended::Finished,
        "ended": report.ended.as_str(),
    })
}

/// A command's exit code.
#[must_use]
pub fn exit_code(report: &Report) -> u8 {
    if report.ended != Ended::Finished {
        EXIT_FAILED
    } else if report.missed() > 0 || report.not_repaired > 0 {
        EXIT_FOUND
    } else {
        EXIT_NOTHING_FOUND
    }
}

/// One line and the metrics. Anything found is an error: an alarm counts these.
pub(crate) fn log(report: &Report, now_ms: u64) {
    events::Audit {
        scanned: report.scanned,
        messages: report.messages,
        no_delivery_item: report.no_delivery_item,
        stuck_in_flight: report.stuck_in_flight,
        stuck_retry: report.stuck_retry,
        payouts_due: report.payouts_due,
        payouts_submitted: report.payouts_submitted,
        payouts_in_review: report.payouts_in_review,
        not_repaired: report.not_repaired,
        finished: report.ended == Ended::Finished,
        ended: report.ended.as_str(),
    }
    .emit(now_ms);
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Report = Report {
        scanned: 9,
        messages: 3,
        no_delivery_item: 0,
        stuck_in_flight: 0,
        stuck_retry: 0,
        payouts_due: 0,
        payouts_submitted: 0,
        payouts_in_review: 0,
        not_repaired: 0,
        ended: Ended::Finished,
    };

    #[test]
    fn the_exit_code_says_what_a_person_must_do() {
        assert_eq!(exit_code(&QUIET), EXIT_NOTHING_FOUND);
        assert_eq!(exit_code(&Report { stuck_retry: 1, ..QUIET }), EXIT_FOUND);
        assert_eq!(exit_code(&Report { payouts_due: 1, ..QUIET }), EXIT_FOUND);
        // The provider takes its time, or a person does.
        assert_eq!(exit_code(&Report { payouts_submitted: 1, payouts_in_review: 1, ..QUIET }), EXIT_NOTHING_FOUND);
        assert_eq!(exit_code(&Report { stuck_retry: 1, not_repaired: 1, ..QUIET }), EXIT_FOUND);
        assert_eq!(exit_code(&Report { not_repaired: 1, ..QUIET }), EXIT_FOUND);
        for ended in [Ended::NotDue, Ended::Elsewhere, Ended::OutOfTime, Ended::Failed] {
            assert_eq!(exit_code(&Report { no_delivery_item: 1, ended, ..QUIET }), EXIT_FAILED);
        }
    }

    #[test]
    fn the_report_names_every_count() {
        let report = Report {
            no_delivery_item: 1,
            stuck_in_flight: 2,
            stuck_retry: 4,
            payouts_due: 8,
            payouts_submitted: 16,
            payouts_in_review: 32,
            ..QUIET
        };
        let expected = json!({
            "scanned": 9, "messages": 3, "payouts_in_review": 32, "not_repaired": 0, "finished": true, "ended": "finished",
            "enqueued": {"no_delivery_item": 1, "stuck_in_flight": 2, "stuck_retry": 4, "payouts_due": 8, "payouts_submitted": 16},
        });
        assert_eq!((report_json(&report), report.enqueued(), report.missed()), (expected, 31, 15));
    }
}
