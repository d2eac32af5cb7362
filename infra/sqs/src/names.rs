//! Names, URLs and ARNs of queues: the three ways in which a request can mean one.
//!
//! Used by `state` and by the actions. One region and one account exist; a URL may name any host, because clients
//! reach the server through proxies and forwarded ports.

use crate::{SqsError, limits::QUEUE_NAME_CHARS};

/// The one account.
pub(crate) const ACCOUNT: &str = "000000000000";
/// The region in ARNs.
pub(crate) const REGION: &str = "us-east-1";

/// The ARN of the queue called `name`.
pub(crate) fn arn(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")
}

/// The name in a queue's ARN, if it is an ARN of this account and region.
pub(crate) fn name_in_arn(arn: &str) -> Option<&str> {
    let rest = arn.strip_prefix("arn:aws:sqs:")?.strip_prefix(REGION)?.strip_prefix(':')?;
    rest.strip_prefix(ACCOUNT)?.strip_prefix(':').filter(|name| !name.is_empty())
}

/// The URL of the queue called `name` on the server at `base_url`.
pub(crate) fn url(base_url: &str, name: &str) -> String {
    format!("{}/{ACCOUNT}/{name}", base_url.trim_end_matches('/'))
}

/// The name in a queue's URL.
///
/// # Errors
/// `InvalidAddress` for what is no URL of a queue, `QueueDoesNotExist` for another account's.
pub(crate) fn name_in_url(url: &str) -> Result<&str, SqsError> {
    let invalid = || SqsError::InvalidAddress(url.to_owned());
    let (_, rest) = url.split_once("://").ok_or_else(invalid)?;
    let mut parts = rest.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(account), Some(name), None) if !account.is_empty() && !name.is_empty() => {
            if account == ACCOUNT {
                Ok(name)
            } else {
                Err(SqsError::QueueDoesNotExist)
            }
        }
        _ => Err(invalid()),
    }
}

/// Checks the name of a queue that is to be made.
///
/// # Errors
/// `UnsupportedOperation` for a FIFO queue's name, `InvalidParameterValue` for anything else that is no name.
pub(crate) fn check_name(name: &str) -> Result<(), SqsError> {
    if name.ends_with(".fifo") {
        return Err(SqsError::UnsupportedOperation(
            "FIFO queues are not offered here: this server has standard queues only.".to_owned(),
        ));
    }
    let fits = name.len() <= QUEUE_NAME_CHARS && is_word(name);
    if fits {
        Ok(())
    } else {
        Err(SqsError::InvalidParameterValue(
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length".to_owned(),
        ))
    }
}

/// Whether `text` is not empty and holds ASCII letters, digits, `-` and `_` only.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_its_url_and_its_arn() {
        assert_eq!(name_in_url(&url("http://127.0.0.1:9324/", "a-b_1")), Ok("a-b_1"));
        assert_eq!(name_in_arn(&arn("a-b_1")), Some("a-b_1"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in ["", "a", "http://h", "http://h/", "http://h//q", "http://h/000000000000/", "http://h/0/q/more"] {
            assert!(matches!(name_in_url(bad), Err(SqsError::InvalidAddress(_))), "{bad}");
        }
        assert_eq!(name_in_url("http://h/123456789012/q"), Err(SqsError::QueueDoesNotExist));
        for bad in ["", "arn:aws:sqs:us-east-1:000000000000:", "arn:aws:sqs:eu-west-1:000000000000:q"] {
            assert_eq!(name_in_arn(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_are_checked() {
        assert_eq!(check_name(&"x".repeat(80)), Ok(()));
        assert!(matches!(check_name("a.fifo"), Err(SqsError::UnsupportedOperation(_))));
        for bad in ["", "a b", "é", "a.b", &"x".repeat(81)] {
            assert!(matches!(check_name(bad), Err(SqsError::InvalidParameterValue(_))), "{bad}");
        }
    }
}
