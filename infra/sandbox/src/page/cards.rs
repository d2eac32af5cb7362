//! The phones as HTML: one card each.

use super::{
    content::Content,
    phones::{Line, Phone, Screens, What},
    text::{clipped, count, escape},
};
use platform::rfc3339_ms;
use std::fmt::Write;

/// Characters shown of a title, a body or data. The table has more.
const TEXT_MAX_CHARS: usize = 1_000;
/// Characters shown of a device token. No real one is longer.
const TOKEN_MAX_CHARS: usize = 300;

/// The items of the list of phones. Nothing is between them, so that the script need not look after it.
pub(super) fn cards(screens: &Screens<'_>) -> String {
    let mut html: String = screens.phones.iter().map(card).collect();
    if html.is_empty() {
        html.push_str("<li class=\"none\">No phone has got anything yet.</li>");
    }
    if screens.left_off > 0 {
        // Writing to a string cannot fail.
        let _ = write!(html, "<li class=\"none\">{} not shown.</li>", count(screens.left_off, "more phone"));
    }
    html
}

fn card(phone: &Phone<'_>) -> String {
    let (platform, provider) = (phone.platform, phone.provider);
    let token = clipped(phone.token, TOKEN_MAX_CHARS);
    let mut html = format!(
        "<li class=\"phone\"><h3><span class=\"platform\">{platform} <small>{provider}</small></span> \
         <bdi class=\"token\">{token}</bdi></h3><ol>"
    );
    html.extend(phone.lines.iter().map(line));
    html.push_str("</ol>");
    if phone.left_off > 0 {
        let _ = write!(html, "<p class=\"more\">{} not shown.</p>", count(phone.left_off, "older one"));
    }
    html.push_str("</li>");
    html
}

fn line(line: &Line<'_>) -> String {
    let at = rfc3339_ms(line.at);
    // The time of day; the date is in the attribute and in the table.
    let time = format!("<time datetime=\"{at}\">{}</time>", at.get(11..19).unwrap_or(&at));
    let app = escape(line.app);
    match &line.what {
        What::Silent { data } => {
            let data = clipped(data, TEXT_MAX_CHARS);
            format!(
                "<li class=\"silent\"><p>{time} Silent push for <bdi>{app}</bdi> <code dir=\"auto\">{data}</code></p></li>"
            )
        }
        What::Notification { content, replaced } => {
            let note = match replaced {
                0 => String::new(),
                times => format!("<p class=\"replaced\">replaced {times}×</p>"),
            };
            format!(
                "<li class=\"notification\"><p class=\"app\"><bdi>{app}</bdi> {time}</p>{}{note}</li>",
                texts(content)
            )
        }
    }
}

/// The image is described and not loaded: this page asks nobody but the sandbox.
fn texts(content: &Content<'_>) -> String {
    let mut html = String::new();
    let parts = [
        (&content.title, "<h4 dir=\"auto\">", "</h4>"),
        (&content.body, "<p class=\"body\" dir=\"auto\">", "</p>"),
        (&content.image, "<p class=\"image\"><b>Image</b> <span dir=\"ltr\">", "</span></p>"),
    ];
    for (text, open, close) in parts.into_iter().filter(|(text, ..)| !text.is_empty()) {
        let _ = write!(html, "{open}{}{close}", clipped(text, TEXT_MAX_CHARS));
    }
    html
}
