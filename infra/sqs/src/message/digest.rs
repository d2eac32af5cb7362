//! The MD5 digests by which SDKs check that a message arrived as it was sent.
//!
//! MD5 is what the protocol asks for; nothing here relies on it being hard to forge. Source: developer guide,
//! "Calculating the MD5 message digest for message attributes".

use super::attribute::{AttributeValue, Content};
use data_encoding::HEXLOWER;
use md5::{Digest, Md5};

/// The digest of a body, in lower-case hexadecimal.
pub(crate) fn of_body(body: &str) -> String {
    HEXLOWER.encode(&Md5::digest(body.as_bytes()))
}

/// The digest of attributes that come sorted by name; `None` without any, as SQS then leaves the field out.
pub(crate) fn of_attributes<'a, N: AsRef<str> + 'a>(
    attributes: impl IntoIterator<Item = (&'a N, &'a AttributeValue)>,
) -> Option<String> {
    const TEXT: u8 = 1;
    const BINARY: u8 = 2;
    let mut hash = Md5::new();
    let mut any = false;
    for (name, value) in attributes {
        any = true;
        put(&mut hash, name.as_ref().as_bytes());
        put(&mut hash, value.data_type.as_bytes());
        match &value.content {
            Content::Text(text) => {
                hash.update([TEXT]);
                put(&mut hash, text.as_bytes());
            }
            Content::Binary(bytes) => {
                hash.update([BINARY]);
                put(&mut hash, bytes);
            }
        }
    }
    any.then(|| HEXLOWER.encode(&hash.finalize()))
}

/// A field with its length before it, in four bytes. No request is long enough for the length not to fit.
fn put(hash: &mut Md5, field: &[u8]) {
    hash.update(u32::try_from(field.len()).unwrap_or(u32::MAX).to_be_bytes());
    hash.update(field);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn known_digests() {
        assert_eq!(of_body("hello"), "5d41402abc4b2a76b9719d911017c592");
        assert_eq!(of_attributes(&BTreeMap::<String, AttributeValue>::new()), None);
        let one = |content| AttributeValue { data_type: "String".to_owned(), content };
        let text = BTreeMap::from([("k1".to_owned(), one(Content::Text("v1".to_owned())))]);
        // Computed with Python's hashlib over the same framing.
        assert_eq!(of_attributes(&text).as_deref(), Some("aceb723e730da35e6ce11175c2d59ad1"));
    }
}
