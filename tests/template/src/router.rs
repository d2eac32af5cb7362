//! The paths of `cargo lambda watch` are the deployed API's: the table in Cargo.toml by which it finds a request's function,
//! against the template's routes.

use crate::{
    Faults, equal,
    routes::{fits, keys},
    yaml::root,
};
use anyhow::Context;
use serde_json::Value;
use std::{collections::BTreeMap, fs};

/// Where the table is in Cargo.toml.
const TABLE: &str = "[workspace.metadata.lambda.watch.router]\n";

/// The manifest with the table.
///
/// # Errors
/// When it cannot be read.
pub fn manifest() -> anyhow::Result<String> {
    fs::read_to_string(root().join("Cargo.toml")).context("Cargo.toml cannot be read")
}

/// The router's spelling of a path of API Gateway's: it has no `{name+}`, and what it calls the rest is anything.
fn spelled(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.ends_with("+}") { "{*path}" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// The table's rows. Of the forms that a row may have only `"path" = "function"` is read: all methods of a path.
fn rows(manifest: &str, faults: &mut Faults) -> BTreeMap<String, String> {
    let table = manifest.split(TABLE).nth(1).unwrap_or_default();
    let lines = table.lines().take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty());
    let text = |written: &str| serde_json::from_str::<String>(written).ok();
    let mut rows = BTreeMap::new();
    for line in lines.filter(|line| !line.starts_with('#')) {
        match line.split_once(" = ").and_then(|(path, function)| Some((text(path)?, text(function)?))) {
            Some((path, function)) => drop(rows.insert(path, function)),
            None => faults.push(format!("the watch's router has a row that is not read here: {line}")),
        }
    }
    rows
}

/// Where the watch's router leads elsewhere than the template's routes.
#[must_use]
pub fn faults(template: &Value, manifest: &str) -> Faults {
    let mut faults = Faults::new();
    let routes = keys(template);
    let binary = |of: &str| routes.iter().find(|(key, _)| *key == of).and_then(|(_, binary)| *binary);
    let default = binary("$default").unwrap_or_default();
    // What no route names has two rows, since the rest of a path is never empty.
    let mut must: BTreeMap<String, String> =
        ["/", "/{*path}"].into_iter().map(|path| (path.to_owned(), default.to_owned())).collect();
    for (key, to) in &routes {
        let Some((method, path)) = key.split_once(' ') else { continue };
        let to = to.unwrap_or_default();
        // It comes to the same function as what no route names, unless another function's route would take it.
        let taken = routes
            .iter()
            .any(|(other, of)| *other != "$default" && of.unwrap_or_default() != default && fits(other, key).is_some());
        if to == default && !taken {
            continue;
        }
        if method != "ANY" {
            faults.push(format!("the watch's router tells no methods apart, as {key} must be"));
        }
        must.insert(spelled(path), to.to_owned());
    }
    let rows = rows(manifest, &mut faults);
    equal(&mut faults, "the watch's router", rows, must);
    faults
}
