//! Comparing secrets.

use aws_lc_rs::constant_time::verify_slices_are_equal;

/// Whether two byte strings are equal, in a time that depends on their lengths only.
#[must_use]
pub fn same_secret(a: &[u8], b: &[u8]) -> bool {
    verify_slices_are_equal(a, b).is_ok()
}

#[cfg(test)]
mod tests {
    use super::same_secret;

    #[test]
    fn equal_is_equal_to_the_last_byte() {
        assert!(same_secret(b"abc", b"abc"));
        assert!(!same_secret(b"abc", b"abd") && !same_secret(b"abc", b"ab") && !same_secret(b"", b"a"));
    }
}
