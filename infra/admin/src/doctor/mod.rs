//! Whether a deployment is what the design needs: each setting that is not is named, with what it is and what it must be.
//!
//! Compares the table with what `store` creates, the queues and the event source mappings with `Timing`, and each
//! function with its own reading of its settings. It only reads. The local system has no Lambda, so there it looks at
//! the table and the queues.

mod functions;
mod lambda;
mod mappings;
mod permission;
mod queues;

use crate::{
    answer::Answer,
    args::{Doctor, Stage},
    failure::{Failure, said},
    place::Place,
    table::table,
};
use functions::{FUNCTIONS, Same};
use lambda::Lambda;
use queues::Queues;
use serde_json::json;
use std::collections::BTreeMap;

/// What the doctor does not see, because no API that it asks tells of it. Told by its answer, `--help` and README alike.
const NOT_LOOKED_AT: [&str; 6] = [
    "whether the audit's schedule is switched on (the alarm audit-silent tells)",
    "the HTTP API's routes and throttling",
    "the functions' roles and code, and whether it was built for their processor",
    "the alarms and their topic",
    "how long logs are kept",
    "the providers' secrets (`credentials check` asks for them)",
];

/// A setting that is wrong.
#[derive(Debug)]
struct Finding {
    /// Of what: "table", "queue deliveries", "function api", "mapping deliver".
    part: String,
    /// Which, in CloudFormation's word.
    setting: String,
    is: String,
    must_be: String,
}

/// What was looked at and what was found.
#[derive(Debug, Default)]
struct Findings {
    found: Vec<Finding>,
    looked_at: usize,
}

impl Findings {
    /// Holds a setting to a rule that is said in words.
    fn must(&mut self, part: &str, setting: &str, is: impl ToString, holds: bool, must_be: impl ToString) {
        self.looked_at += 1;
        if !holds {
            self.found.push(Finding {
                part: part.to_owned(),
                setting: setting.to_owned(),
                is: is.to_string(),
                must_be: must_be.to_string(),
            });
        }
    }

    /// Holds a setting to a value.
    fn equal(&mut self, part: &str, setting: &str, is: impl ToString, must_be: impl ToString) {
        let (is, must_be) = (is.to_string(), must_be.to_string());
        let holds = is == must_be;
        self.must(part, setting, is, holds, must_be);
    }
}

pub(crate) async fn run(place: &Place, doctor: Doctor) -> Result<Answer, Failure> {
    let mut findings = Findings::default();
    if place.is_local() && !doctor.functions.is_empty() {
        return Err(said("--function: the local system has no functions of Lambda's to look at; leave it out"));
    }
    let made_for_test = place.output("Stage").is_some_and(|stage| stage == "test");
    let test = doctor.stage.map_or(made_for_test, |stage| stage == Stage::Test);
    let production = !test && !place.is_local();
    let store = place.store().await?;
    let check = store.check_table(production).await.map_err(|error| place.failed(error))?;
    findings.looked_at += check.looked_at;
    findings.found.extend(check.faults.into_iter().map(|fault| Finding {
        part: "table".to_owned(),
        setting: fault.setting.to_owned(),
        is: fault.is,
        must_be: fault.must_be,
    }));
    let queues = Queues::look(place, &place.sqs().await?, doctor.parking_queue.as_deref(), &mut findings).await?;
    if !place.is_local() {
        let names = names(place, &doctor)?;
        let (config, endpoint) = place.lambda().await?;
        let lambda = Lambda::new(config, endpoint, place.clock.clone())?;
        let mut same = Same::of(place);
        let stream = check.stream_arn.as_deref();
        for function in FUNCTIONS {
            // Every name is there: see `names`.
            let name = names.get(function.name).cloned().unwrap_or_default();
            let there = functions::look(place, &lambda, function, &name, &queues, &mut same, &mut findings).await?;
            if there {
                let sources: Vec<_> =
                    function.events.iter().map(|source| (*source, source.arn(&queues, stream))).collect();
                let used = mappings::look(place, &lambda, function, &name, &sources, &mut findings).await?;
                functions::look_at_limit(&lambda, function, &name, used, &mut findings).await?;
            }
        }
        mappings::strangers(&lambda, &queues, stream, &names, &mut findings).await?;
    }
    Ok(answer(&findings, place.is_local()))
}

/// The functions' names, by the kind of function.
fn names(place: &Place, doctor: &Doctor) -> Result<BTreeMap<String, String>, Failure> {
    let mut names = BTreeMap::new();
    for given in &doctor.functions {
        let (kind, name) = given.split_once('=').unwrap_or((given, ""));
        if FUNCTIONS.iter().all(|function| function.name != kind) || name.is_empty() {
            let kinds: Vec<_> = FUNCTIONS.iter().map(|function| function.name).collect();
            return Err(said(format!("--function is KIND=NAME with a kind of {}, not {given}", kinds.join(", "))));
        }
        names.insert(kind.to_owned(), name.to_owned());
    }
    for function in FUNCTIONS {
        if let Some(name) = place.output(function.output) {
            names.entry(function.name.to_owned()).or_insert(name);
        }
    }
    let missing: Vec<_> =
        FUNCTIONS.iter().map(|function| function.name).filter(|name| !names.contains_key(*name)).collect();
    if missing.is_empty() {
        return Ok(names);
    }
    Err(said(format!(
        "the names of these functions are not known: {}. Give the stack's outputs with --outputs (`sam list \
         stack-outputs --stack-name sendonce --output json`), or --function KIND=NAME for each",
        missing.join(", ")
    )))
}

fn answer(findings: &Findings, local: bool) -> Answer {
    let rows: Vec<_> =
        findings.found.iter().map(|f| [f.part.clone(), f.setting.clone(), f.is.clone(), f.must_be.clone()]).collect();
    let listed: Vec<_> = findings
        .found
        .iter()
        .map(|f| json!({"part": f.part, "setting": f.setting, "is": f.is, "must_be": f.must_be}))
        .collect();
    // A stack has parts that only other services' APIs tell of: nobody must take silence for a good word.
    let unseen = if local { [].as_slice() } else { NOT_LOOKED_AT.as_slice() };
    let value = json!({"looked_at": findings.looked_at, "wrong": listed, "not_looked_at": unseen});
    let unseen = if local { String::new() } else { format!("Not looked at: {}.\n", unseen.join("; ")) };
    if rows.is_empty() {
        let all = format!("All {} settings that were looked at are as they must be.\n", findings.looked_at);
        return Answer::new(value, format!("{all}{unseen}"));
    }
    let head = format!("{} of {} settings are wrong:\n", rows.len(), findings.looked_at);
    Answer::new(value, format!("{head}{}{unseen}", table(["OF", "SETTING", "IS", "MUST BE"], &rows))).found()
}
