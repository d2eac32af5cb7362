//! Addresses as settings and credentials name them.
//!
//! One grammar for all of them, which a pattern of template.yaml can say too: a stack takes no address that its functions
//! refuse. It is narrower than what a URL may be. A user and a password have no place in an address that is logged.

use std::net::Ipv4Addr;

/// The parts of an address: `scheme://host:port` and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// As it is written.
    pub scheme: &'a str,
    /// A name, an IPv4 address, or `[::1]`.
    pub host: &'a str,
    /// 1 to 65535 without zeros in front, if there is one.
    pub port: Option<&'a str>,
    /// Path, query and fragment; empty, or begins with `/`, `?` or `#`.
    pub rest: &'a str,
}

impl<'a> Address<'a> {
    /// The parts of a text; `None` if its host is none, if its port is none, or if it names a user.
    #[must_use]
    pub fn of(text: &'a str) -> Option<Self> {
        let (scheme, after) = text.split_once("://")?;
        let (authority, rest) = after.split_at(after.find(['/', '?', '#']).unwrap_or(after.len()));
        // The colons of an IPv6 address are within its brackets.
        let colon = authority.rfind(':').filter(|at| !authority[*at..].contains(']'));
        let (host, port) = match colon {
            Some(at) => (&authority[..at], Some(&authority[at + 1..])),
            None => (authority, None),
        };
        (is_host(host) && port.is_none_or(is_port)).then_some(Self { scheme, host, port, rest })
    }

    /// Whether nothing that is sent there leaves this machine.
    #[must_use]
    pub fn is_this_machine(&self) -> bool {
        ["127.0.0.1", "localhost", "[::1]"].contains(&self.host)
    }
}

/// A name whose last label begins with a letter, as all names of the DNS do; a canonical IPv4 address; or this machine's
/// IPv6 address. The others of IPv6 are written in too many ways for a pattern to tell them apart.
fn is_host(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let label =
        |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(inner);
    let last = text.rsplit('.').next().unwrap_or_default();
    let name = text.split('.').all(label) && last.starts_with(|letter: char| letter.is_ascii_alphabetic());
    name || text.parse::<Ipv4Addr>().is_ok() || text == "[::1]"
}

fn is_port(text: &str) -> bool {
    let digits = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_that_there_can_be() {
        for good in [
            "https://a.example",
            "https://a-1.b_c.example:65535/x?y#z",
            "http://localhost:1",
            "http://192.168.1.30",
            "http://[::1]:8090",
            "https://xn--bcher-kva.example",
            "https://API.example",
        ] {
            assert!(Address::of(good).is_some(), "{good}");
        }
        for bad in [
            "a.example",
            "https://",
            "https://...",
            "https://a..b",
            "https://.a",
            "https://a.example.",
            "https://-a.example",
            "https://a-",
            "https://xn--",
            "https://1.2.3",
            "https://192.168.1.300",
            "https://192.168.01.3",
            "https://a.0x7f",
            "https://a.example:",
            "https://a.example:0",
            "https://a.example:080",
            "https://a.example:65536",
            "https://a.example:99999",
            "https://a.example:+80",
            "https://u@a.example",
            "https://u:p@a.example",
            "https://[::1",
            "https://[fe80::1]",
            "https://[::1]x",
            "https://a b.example",
            "https://\u{e4}.example",
        ] {
            assert_eq!(Address::of(bad), None, "{bad}");
        }
        let whole = Address::of("http://[::1]:8090/x?y").unwrap();
        assert_eq!((whole.scheme, whole.host, whole.port, whole.rest), ("http", "[::1]", Some("8090"), "/x?y"));
        assert!(whole.is_this_machine() && !Address::of("http://127.0.0.2").unwrap().is_this_machine());
    }
}
