//! Receipt handles: which copy, received for the how-manieth time, from which queue.
//!
//! Made by receives and read by deletes and visibility changes. A handle carries a checksum, so that garbage is told
//! from a handle that is merely old; it is not a secret.

use crate::SqsError;
use data_encoding::BASE64URL_NOPAD;
use md5::{Digest, Md5};

const CHECK_BYTES: usize = 4;

/// What a receipt handle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) queue: [u8; 8],
    pub(super) copy: u64,
    pub(super) turn: u32,
}

impl Handle {
    pub(super) fn encode(self) -> String {
        let mut bytes = self.fields();
        bytes.extend_from_slice(&check(&bytes));
        BASE64URL_NOPAD.encode(&bytes)
    }

    /// Reads a handle that `queue` gave out.
    ///
    /// # Errors
    /// `ReceiptHandleIsInvalid` for anything else.
    pub(super) fn decode(text: &str, queue: [u8; 8]) -> Result<Self, SqsError> {
        Self::read(text).filter(|handle| handle.queue == queue).ok_or(SqsError::ReceiptHandleIsInvalid)
    }

    fn fields(self) -> Vec<u8> {
        [&self.queue[..], &self.copy.to_be_bytes(), &self.turn.to_be_bytes()].concat()
    }

    fn read(text: &str) -> Option<Self> {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (fields, given) = bytes.split_last_chunk::<CHECK_BYTES>()?;
        let (queue, rest) = fields.split_first_chunk()?;
        let (copy, turn) = rest.split_first_chunk()?;
        let turn = turn.try_into().ok()?;
        let whole = *given == check(fields);
        whole.then(|| Self { queue: *queue, copy: u64::from_be_bytes(*copy), turn: u32::from_be_bytes(turn) })
    }
}

fn check(fields: &[u8]) -> [u8; CHECK_BYTES] {
    let digest: [u8; 16] = Md5::digest(fields).into();
    [digest[0], digest[1], digest[2], digest[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_read_back_by_its_own_queue_only() {
        let handle = Handle { queue: *b"identity", copy: 7, turn: 3 };
        let text = handle.encode();
        assert_eq!(Handle::decode(&text, *b"identity"), Ok(handle));
        assert_eq!(Handle::decode(&text, *b"another!"), Err(SqsError::ReceiptHandleIsInvalid));
    }

    #[test]
    fn garbage_is_refused() {
        let good = Handle { queue: [0; 8], copy: 0, turn: 0 }.encode();
        let changed = good.replacen('A', "B", 1);
        for bad in ["", "garbage", "é", "AAAA", &good[1..], &changed, &format!("{good}AAAA")] {
            assert_eq!(Handle::decode(bad, [0; 8]), Err(SqsError::ReceiptHandleIsInvalid), "{bad}");
        }
    }
}
