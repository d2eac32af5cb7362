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

/// What the doctor does not see, because no API that it asks tells of it, or because the design has nothing to say of it.
/// Told by its answer, `--help` and README alike.
const NOT_LOOKED_AT: [&str; 8] = [
    "whether the audit's schedule is switched on (the alarm audit-silent tells)",
    "the HTTP API's routes and throttling",
    "the functions' roles and code, and whether it was built for their processor",
    "what else a function may have: a VPC, layers, file systems, a key for its variables, tracing",
    "what else the table and the queues may have: replicas, limits of throughput, a policy of the table, long polling",
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
    if place.is_local() && !doctor.functions.is_empty() {
        return Err(said("--function: the local system has no functions of Lambda's to look at; leave it out"));
    }
    // Before anything is asked.
    let names = if place.is_local() { None } else { Some(names(place, &doctor)?) };
    let mut findings = Findings::default();
    match look(place, &doctor, names.as_ref(), &mut findings).await {
        Err(failure) if findings.looked_at == 0 => Err(failure),
        // A look that failed takes nothing back of what was found before it.
        looked => Ok(answer(&findings, place.is_local(), looked.err())),
    }
}

/// Looks at everything; `names`: the functions', where there are functions.
async fn look(
    place: &Place,
    doctor: &Doctor,
    names: Option<&BTreeMap<String, String>>,
    findings: &mut Findings,
) -> Result<(), Failure> {
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
    let queues = Queues::look(place, &place.sqs().await?, doctor.parking_queue.as_deref(), findings).await?;
    let Some(names) = names else { return Ok(()) };
    let (config, endpoint) = place.lambda().await?;
    let lambda = Lambda::new(config, endpoint, place.clock.clone())?;
    let mut same = Same::of(place);
    let stream = check.stream_arn.as_deref();
    for function in FUNCTIONS {
        // Every name is there: see `names`.
        let name = names.get(function.name).cloned().unwrap_or_default();
        let there = functions::look(place, &lambda, function, &name, &queues, &mut same, findings).await?;
        if there {
            let sources: Vec<_> = function.events.iter().map(|source| (*source, source.arn(&queues, stream))).collect();
            let used = mappings::look(place, &lambda, function, &name, &sources, findings).await?;
            functions::look_at_limit(&lambda, function, &name, used, findings).await?;
        }
    }
    mappings::strangers(&lambda, &queues, stream, names, findings).await
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

/// What was found; `ended_by`: the failure that ended the look before everything was looked at.
fn answer(findings: &Findings, local: bool, ended_by: Option<Failure>) -> Answer {
    let rows: Vec<_> =
        findings.found.iter().map(|f| [f.part.clone(), f.setting.clone(), f.is.clone(), f.must_be.clone()]).collect();
    let listed: Vec<_> = findings
        .found
        .iter()
        .map(|f| json!({"part": f.part, "setting": f.setting, "is": f.is, "must_be": f.must_be}))
        .collect();
    // A stack has parts that only other services' APIs tell of: nobody must take silence for a good word.
    let unseen = if local { [].as_slice() } else { NOT_LOOKED_AT.as_slice() };
    let ended_by = ended_by.map(|failure| failure.to_string());
    let value =
        json!({"looked_at": findings.looked_at, "wrong": listed, "not_looked_at": unseen, "ended_by": ended_by});
    let unseen = if local { String::new() } else { format!("Not looked at: {}.\n", unseen.join("; ")) };
    let rest = match &ended_by {
        Some(why) => format!("What comes after these was not looked at: {why}.\n"),
        None => String::new(),
    };
    let found = if rows.is_empty() {
        format!("All {} settings that were looked at are as they must be.\n", findings.looked_at)
    } else {
        let head = format!("{} of {} settings are wrong:\n", rows.len(), findings.looked_at);
        format!("{head}{}", table(["OF", "SETTING", "IS", "MUST BE"], &rows))
    };
    let answer = Answer::new(value, format!("{found}{rest}{unseen}"));
    match ended_by {
        Some(why) => answer.not_done(why),
        None if rows.is_empty() => answer,
        None => answer.found(),
    }
}
