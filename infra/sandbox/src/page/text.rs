//! Text on its way into HTML: escaped, bounded, and with a direction of its own.

/// Makes any text safe between tags and in a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The beginning of a text, escaped, with an ellipsis if something is missing.
pub(super) fn clipped(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => escape(&text[..end]) + "…",
        None => escape(text),
    }
}

/// "1 phone", "2 phones".
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_tag_or_its_quotes() {
        assert_eq!(escape("<a href=\"x\" id='y'>&amp;"), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;");
    }

    #[test]
    fn a_cut_is_between_characters_and_before_escaping() {
        assert_eq!(clipped("שלום🙂<", 5), "שלום🙂…");
        assert_eq!(clipped("🙂<", 2), "🙂&lt;");
        assert_eq!(count(1, "phone") + &count(0, "phone"), "1 phone0 phones");
    }
}
