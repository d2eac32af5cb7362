//! template.yaml agrees with the code. Each check's own ability to fail is shown in `mutations.rs`.

#![allow(clippy::unwrap_used, reason = "tests")]

use protocol::timing::Timing;
use serde_json::Value;
use std::{collections::BTreeSet, fs};
use template::{
    alarm_table, alarms, binary, commands, logs, loops, policy, read, readme, router, routes, runbook, settings,
    source, timing, wiring, yaml,
};

fn template() -> Value {
    yaml::load("template.yaml").unwrap()
}

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_duration_is_protocol_s_and_holds_its_inequalities() {
    for profile in ["production", "short"] {
        none(&timing::faults(&template(), profile));
    }
    none(&timing::fixed(&template()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn table_queues_and_mappings_are_the_local_system_s() {
    for profile in ["production", "short"] {
        let local = source::local(Timing::named(profile).unwrap()).await.unwrap();
        none(&wiring::faults(&template(), profile, &local));
    }
}

#[test]
fn a_production_stage_keeps_its_table() {
    none(&wiring::kept(&template()));
}

#[test]
fn a_restored_table_takes_the_place_of_the_stack_s_own() {
    none(&wiring::restored(&template()));
}

#[test]
fn every_function_has_the_variables_that_its_settings_ask_for_and_no_other() {
    none(&settings::faults(&template()));
}

#[test]
fn every_policy_allows_what_the_binary_does_and_nothing_else() {
    none(&policy::faults(&template(), &binary::operations().unwrap()));
}

#[test]
fn parameters_take_what_the_functions_start_with() {
    none(&settings::patterns(&template()));
}

#[test]
fn only_a_loop_that_is_meant_is_allowed() {
    none(&loops::faults(&template()));
}

#[test]
fn every_request_reaches_its_function() {
    none(&routes::faults(&template()));
}

#[test]
fn the_watch_s_paths_are_the_deployed_api_s() {
    none(&router::faults(&template(), &router::manifest().unwrap()));
}

#[test]
fn every_log_is_kept_as_long_as_the_parameter_says() {
    none(&logs::faults(&template()));
}

#[test]
fn every_alarm_has_a_section_of_the_runbook_and_a_metric_that_is_written() {
    none(&alarms::faults(&template(), &yaml::load("infra/aws/alarms.yaml").unwrap(), &alarms::runbook().unwrap()));
}

#[test]
fn every_alarm_watches_what_the_table_says() {
    none(&alarm_table::faults(&yaml::load("infra/aws/alarms.yaml").unwrap()));
}

#[test]
fn every_query_of_the_documents_finds_an_event() {
    let writers = runbook::writers().unwrap();
    none(&runbook::contract(&writers));
    none(&runbook::faults(&alarms::runbook().unwrap(), &writers));
}

#[test]
fn what_readme_says_of_costs_and_rights_is_so() {
    let readme = readme::readme().unwrap();
    none(&readme::costs(&readme, &yaml::load("infra/aws/alarms.yaml").unwrap()));
    none(&readme::actions(&readme, &binary::operations_of_admin().unwrap()).unwrap());
}

#[test]
fn commands_of_the_documents_can_be_given() {
    none(&commands::faults("README", &readme::readme().unwrap()));
    none(&commands::faults("RUNBOOK", &alarms::runbook().unwrap()));
    none(&commands::versions(&readme::readme().unwrap()).unwrap());
}

#[test]
fn every_function_is_deployed_and_built_by_default() {
    let folders: BTreeSet<String> = fs::read_dir(yaml::root().join("functions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let template = template();
    let deployed: BTreeSet<String> = read::functions(&template).iter().map(|f| f.binary.to_owned()).collect();
    assert_eq!(deployed, folders, "template.yaml has a function for each folder of functions/");
    assert_eq!(settings::binaries(), folders.iter().map(String::as_str).collect(), "and its settings are checked");
    // `sam build` finds the binaries of default members only.
    let manifest = fs::read_to_string(yaml::root().join("Cargo.toml")).unwrap();
    let members = manifest.split("default-members = [").nth(1).unwrap().split(']').next().unwrap();
    for folder in &folders {
        assert!(members.contains(&format!("\"functions/{folder}\"")), "functions/{folder} is no default member");
    }
    for function in read::functions(&template) {
        assert_eq!(read::of_function(&template, function, "CodeUri"), ".", "{}", function.name);
        assert_eq!(read::of_function(&template, function, "Runtime"), "provided.al2023", "{}", function.name);
        assert_eq!(template["Resources"][function.name]["Metadata"]["BuildMethod"], "rust-cargolambda");
        assert!(read::of_function(&template, function, "Architectures")[0]["Ref"] == "Architecture");
    }
    assert_eq!(template["Parameters"]["Architecture"]["Default"], "arm64");
}
