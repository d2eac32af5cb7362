//! Numbers by their decimal text, so that nothing is rounded before it is judged.

/// The largest integer that every double below it, and itself, holds exactly: 2^53 − 1 (RFC 7493 section 2.2).
pub(crate) const INTEGER_MAX: u64 = 9_007_199_254_740_991;

/// A number as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number<'a> {
    text: &'a str,
}

/// What a number's text amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Integer { negative: bool, magnitude: Option<u64> },
    Fraction,
}

impl<'a> Number<'a> {
    /// `text` is a number by JSON's grammar (RFC 8259 section 6).
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text }
    }

    #[cfg(test)]
    pub(crate) fn text(self) -> &'a str {
        self.text
    }

    /// Whether it is exact: an integer, however it is written, within ±(2^53−1), or a fraction that does not overflow
    /// a double.
    pub(crate) fn is_exact(self) -> bool {
        match self.value() {
            Value::Integer { magnitude, .. } => magnitude.is_some_and(|magnitude| magnitude <= INTEGER_MAX),
            Value::Fraction => self.text.parse::<f64>().is_ok_and(f64::is_finite),
        }
    }

    /// Its value, if it is an integer within ±(2^53−1): `60`, `60.0`, `6e1` and `600e-1` are all 60.
    #[must_use]
    pub fn as_integer(self) -> Option<i64> {
        match self.value() {
            Value::Integer { negative, magnitude: Some(magnitude) } if magnitude <= INTEGER_MAX => {
                let value = i64::try_from(magnitude).ok()?;
                Some(if negative { -value } else { value })
            }
            Value::Integer { .. } | Value::Fraction => None,
        }
    }

    /// Judges the text: digits times a power of ten.
    fn value(self) -> Value {
        let (negative, rest) = match self.text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, self.text),
        };
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits: String = [whole, fraction].concat();
        let significant = digits.trim_start_matches('0').trim_end_matches('0');
        if significant.is_empty() {
            return Value::Integer { negative: false, magnitude: Some(0) };
        }
        // An exponent that no i64 holds is beyond every limit, in its own direction.
        let exponent = exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') { i64::MIN } else { i64::MAX });
        let zeros = digits.len() - digits.trim_end_matches('0').len();
        let shift = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        // The power of ten behind the significant digits.
        let power = exponent.saturating_sub(shift(fraction.len())).saturating_add(shift(zeros));
        if power < 0 {
            return Value::Fraction;
        }
        // 2^53 has 16 digits; more than 19 in all fit no u64.
        let magnitude = u32::try_from(power)
            .ok()
            .filter(|power| *power <= 19)
            .and_then(|power| significant.parse::<u64>().ok()?.checked_mul(10_u64.checked_pow(power)?));
        Value::Integer { negative, magnitude }
    }
}
