//! House rules about the source itself. Each failure says which file and what to do about it.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the repository has failed")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Longest file written by hand, in lines.
const LINES_MAX: usize = 600;
/// Deepest folder below the repository's root.
const DEPTH_MAX: usize = 4;

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).map(Path::to_path_buf).unwrap()
}

/// Every file of the repository that a person wrote, as its path below the root and its text.
fn files() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        // A folder may be some other program's temporary one, and gone by now.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // In a linked worktree `.git` is a file.
            if ["target", ".git", ".cache", ".venv", ".aws-sam", "node_modules"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if name != "Cargo.lock" && !name.starts_with("LICENSE") {
                let below = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                if let Ok(text) = fs::read_to_string(&path) {
                    found.push((below, text));
                }
            }
        }
    }
    assert!(found.len() > 50, "the walk found only {} files", found.len());
    found
}

fn rust_files() -> impl Iterator<Item = (String, String)> {
    files().into_iter().filter(|(path, _)| path.ends_with(".rs"))
}

#[test]
fn files_are_short_and_folders_shallow() {
    for (path, text) in files() {
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{path} has {lines} lines; split it below {LINES_MAX}");
        let depth = path.split('/').count();
        assert!(depth <= DEPTH_MAX + 1, "{path} lies {depth} deep; make it shallower");
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    for (path, text) in rust_files() {
        assert!(text.starts_with("//!"), "{path} has no header: say what it is for, who calls it, what it guarantees");
    }
}

#[test]
fn only_store_names_attributes_and_calls_dynamodb() {
    for (path, text) in rust_files() {
        let product = path.starts_with("functions/") || path.starts_with("crates/");
        if product && !path.starts_with("crates/store/") {
            for word in ["ExpressionAttribute", "condition_expression", ".put_item(", ".update_item(", ".delete_item("]
            {
                assert!(!text.contains(word), "{path} says {word}: only crates/store knows DynamoDB");
            }
        }
    }
}

#[test]
fn protocol_has_no_io_no_clock_and_no_randomness() {
    for (path, text) in rust_files() {
        if path.starts_with("crates/protocol/src/") {
            for word in ["std::", "async ", "tokio", "SystemTime", "Instant::", "rand::"] {
                assert!(!text.contains(word), "{path} says {word}: protocol is pure");
            }
        }
    }
    let manifest = fs::read_to_string(root().join("crates/protocol/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap().split("[dev-dependencies]").next().unwrap();
    let names: Vec<&str> =
        dependencies.lines().filter_map(|line| line.split(['.', ' ']).next()).filter(|n| !n.is_empty()).collect();
    assert_eq!(names, ["data-encoding", "serde", "sha2"], "protocol depends on nothing of ours and on no I/O");
}

#[test]
fn mains_are_thin() {
    for (path, text) in rust_files() {
        if path.starts_with("functions/") && path.ends_with("src/main.rs") {
            let lines = text.lines().count();
            assert!(lines <= 40, "{path} has {lines} lines; what a test should reach belongs into lib.rs");
        }
    }
}

#[test]
fn functions_write_logs_and_metrics_and_the_local_system_no_metrics() {
    for (path, text) in rust_files() {
        let logs = text.contains("platform::init_logs(");
        let metrics = text.contains("platform::init_metrics(std::io::stdout())");
        if path.starts_with("functions/") && path.ends_with("src/main.rs") {
            assert!(logs && metrics, "{path} must choose where logs and metrics go: see docs/OBSERVABILITY.md");
            assert!(
                text.contains("platform::init_panics()"),
                "{path} would log what a panic says, which may be anything"
            );
        }
        if path.starts_with("infra/") {
            assert!(!text.contains("init_metrics"), "{path}: the local system's stdout is one ready line");
        }
    }
}

#[test]
fn versions_are_pinned_in_one_table() {
    for (path, text) in files() {
        // fuzz is a workspace of its own and cannot inherit.
        if path.ends_with("Cargo.toml") && path != "Cargo.toml" && path != "fuzz/Cargo.toml" {
            let dependencies = text.split("dependencies]").skip(1).flat_map(str::lines);
            for line in dependencies.filter(|line| line.contains('=')).filter(|line| !line.starts_with('[')) {
                let own = ["name", "harness", "path", "autotests"].iter().any(|key| line.starts_with(key));
                assert!(own || line.contains("workspace"), "{path}: {line:?} belongs into the workspace's table");
            }
        }
    }
}

#[test]
fn nothing_names_a_registry_or_a_machine() {
    // Written in pieces, so that this file does not name them either.
    let hosts = [
        ["crates", ".io"],
        ["registry.npm", "js.org"],
        ["pypi", ".org"],
        ["deb.debian", ".org"],
        ["/ro", "ot/"],
        ["/wo", "rk/"],
    ];
    for (path, text) in files() {
        for host in &hosts {
            let host = host.concat();
            assert!(!text.contains(&host), "{path} names {host}");
        }
    }
}
