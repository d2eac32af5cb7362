//! Queue attributes that are kept and given back but have no effect here.
//!
//! Used by `queue::attributes`. Permissions and encryption have no meaning inside one process; keeping the values lets
//! a template's settings pass through and be read back.

/// Attributes of a standard queue that are stored as they come. `RedriveAllowPolicy` is among them because it, too,
/// is text; `queue::redrive` applies it.
const KEPT: [&str; 5] =
    ["Policy", "RedriveAllowPolicy", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled"];

/// Whether `name` is such an attribute.
pub(crate) fn is_kept(name: &str) -> bool {
    KEPT.contains(&name)
}
