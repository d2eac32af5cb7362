//! Query parameters, read strictly: what is not percent-encoded UTF-8 is said to be wrong, not replaced.

use percent_encoding::percent_decode_str;

/// The first value of a parameter: `None` if it is not there, an error if it is not UTF-8 once decoded.
pub fn first(query: Option<&str>, name: &str) -> Option<Result<String, NotUtf8>> {
    query?.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(key).ok()? == name).then(|| decode(value))
    })
}

/// A value that is not percent-encoded UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotUtf8;

/// `+` is a space, as HTML forms write it (WHATWG URL, application/x-www-form-urlencoded); then percent-decoding.
fn decode(text: &str) -> Result<String, NotUtf8> {
    let escapes = text.split('%').skip(1);
    if !escapes.into_iter().all(|rest| rest.get(..2).is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))) {
        return Err(NotUtf8);
    }
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().map(Into::into).map_err(|_| NotUtf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_counts_and_is_decoded() {
        let k = |query| first(Some(query), "k");
        assert_eq!(k("a=1&k=x%20y+z&k=2"), Some(Ok("x y z".into())));
        assert_eq!(k("%6B=%D0%BA"), Some(Ok("к".into())));
        assert_eq!([k("k"), k("k=")], [Some(Ok(String::new())), Some(Ok(String::new()))]);
        assert_eq!([k(""), k("K=1"), first(None, "k")], [None, None, None]);
        assert_eq!(k("k=%FF"), Some(Err(NotUtf8)));
        for broken in ["k=%zz", "k=%", "k=a%2"] {
            assert_eq!(k(broken), Some(Err(NotUtf8)), "{broken}");
        }
    }
}
