//! Who may invoke a function: the service that the design has do it, on behalf of our own API or schedule, and nobody
//! else. What Lambda does for an event source mapping needs no permission.

use super::Findings;
use crate::place::Place;
use serde_json::Value;

/// A service that invokes functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invoker {
    /// API Gateway.
    HttpApi,
    /// EventBridge, whose rule the schedule is.
    Schedule,
}

impl Invoker {
    /// As permissions name it.
    fn service(self) -> &'static str {
        match self {
            Self::HttpApi => "apigateway.amazonaws.com",
            Self::Schedule => "events.amazonaws.com",
        }
    }

    /// Whether this ARN is what the service must act for: our API where its id is known, any rule for a schedule. In the
    /// account and the region of the function.
    fn acts_for(self, source: &str, function: &str, api: Option<&str>) -> bool {
        let parts: Vec<&str> = source.splitn(6, ':').collect();
        let &[_, _, service, region, account, resource] = parts.as_slice() else { return false };
        let at: Vec<&str> = function.split(':').collect();
        // Whoever cannot tell where the function is cannot be told that this is elsewhere.
        let here = at.len() < 5 || (region, account) == (at[3], at[4]);
        here && match self {
            Self::HttpApi => {
                let id = resource.split_once('/').map_or("", |(id, _)| id);
                service == "execute-api" && !id.is_empty() && id != "*" && api.is_none_or(|api| api == id)
            }
            Self::Schedule => service == "events" && resource.starts_with("rule/") && !resource.ends_with("/*"),
        }
    }
}

/// The id of our API: the first word of its host.
fn api_id(place: &Place) -> Option<String> {
    let url = place.output("ApiUrl")?;
    let (id, _) = url.split_once("://")?.1.split_once('.')?;
    Some(id.to_owned())
}

/// The one source of a permission.
fn source(statement: &Value) -> Option<&str> {
    let conditions = &statement["Condition"];
    let kinds = ["ArnLike", "ArnEquals", "StringEquals", "StringLike"];
    let values = kinds.iter().filter_map(|kind| conditions[*kind].as_object());
    let found = values.flatten().find(|(name, _)| name.eq_ignore_ascii_case("aws:SourceArn"));
    found.and_then(|(_, value)| value.as_str())
}

/// Who is let in, and for what.
fn said(statement: &Value) -> String {
    let principal = &statement["Principal"];
    let of = |name: &str| principal[name].as_str();
    let who = of("Service").or_else(|| of("AWS")).or_else(|| principal.as_str()).unwrap_or("somebody");
    let effect = if statement["Effect"] == "Allow" { "" } else { "not " };
    format!("{effect}{who} for {}", source(statement).unwrap_or("anybody"))
}

/// Holds a function's policy to what it must be.
pub(super) fn look(
    place: &Place,
    invoker: Option<Invoker>,
    part: &str,
    function: &Value,
    policy: &Value,
    findings: &mut Findings,
) {
    judge(invoker, api_id(place).as_deref(), part, function.as_str().unwrap_or_default(), policy, findings);
}

fn judge(
    invoker: Option<Invoker>,
    api: Option<&str>,
    part: &str,
    function: &str,
    policy: &Value,
    findings: &mut Findings,
) {
    let statements = policy["Statement"].as_array().map(Vec::as_slice).unwrap_or_default();
    let right = |statement: &Value, invoker: Invoker| {
        statement["Effect"] == "Allow"
            && statement["Action"] == "lambda:InvokeFunction"
            && statement["Principal"]["Service"] == invoker.service()
            && source(statement).is_some_and(|source| invoker.acts_for(source, function, api))
    };
    let let_in = invoker.is_none_or(|invoker| statements.iter().any(|statement| right(statement, invoker)));
    let alone = statements.iter().all(|statement| invoker.is_some_and(|invoker| right(statement, invoker)));
    let is = statements.iter().map(said).collect::<Vec<_>>().join(", ");
    let is = if is.is_empty() { "nobody".to_owned() } else { is };
    let must_be = match invoker {
        None => "nobody".to_owned(),
        Some(Invoker::HttpApi) => {
            format!("{} for {}, and nobody else", Invoker::HttpApi.service(), api.unwrap_or("our own API"))
        }
        Some(Invoker::Schedule) => {
            format!("{} for a rule of this account, and nobody else", Invoker::Schedule.service())
        }
    };
    findings.must(part, "Permission", is, let_in && alone, must_be);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FUNCTION: &str = "arn:aws:lambda:eu-west-1:123456789012:function:api";
    const API: &str = "arn:aws:execute-api:eu-west-1:123456789012:abc123/*";
    const RULE: &str = "arn:aws:events:eu-west-1:123456789012:rule/hourly";

    fn statement(principal: Value, source: Value) -> Value {
        let condition = if source.is_null() { json!({}) } else { json!({"ArnLike": {"AWS:SourceArn": source}}) };
        json!({"Effect": "Allow", "Action": "lambda:InvokeFunction", "Principal": principal, "Condition": condition})
    }

    fn holds(invoker: Option<Invoker>, statements: &[Value]) -> bool {
        let mut findings = Findings::default();
        judge(invoker, Some("abc123"), "f", FUNCTION, &json!({"Statement": statements}), &mut findings);
        assert_eq!(findings.looked_at, 1);
        findings.found.is_empty()
    }

    #[test]
    fn nobody_but_the_one_that_is_meant_is_let_in() {
        let service = |name: &str| json!({"Service": name});
        let http = || statement(service("apigateway.amazonaws.com"), json!(API));
        let schedule = || statement(service("events.amazonaws.com"), json!(RULE));
        assert!(holds(Some(Invoker::HttpApi), &[http()]) && holds(Some(Invoker::Schedule), &[schedule()]));
        assert!(holds(None, &[]) && !holds(Some(Invoker::HttpApi), &[]) && !holds(None, &[http()]));
        let other_api = json!("arn:aws:execute-api:eu-west-1:123456789012:zzz999/*");
        let other_account = json!("arn:aws:execute-api:eu-west-1:999999999999:abc123/*");
        let other_region = json!("arn:aws:execute-api:us-east-1:123456789012:abc123/*");
        let any_api = json!("arn:aws:execute-api:eu-west-1:123456789012:*/*");
        for bad in [
            statement(service("apigateway.amazonaws.com"), Value::Null),
            statement(service("apigateway.amazonaws.com"), other_api),
            statement(service("apigateway.amazonaws.com"), other_account),
            statement(service("apigateway.amazonaws.com"), other_region),
            statement(service("apigateway.amazonaws.com"), any_api),
            statement(service("s3.amazonaws.com"), json!(API)),
            statement(json!("*"), Value::Null),
            statement(json!({"AWS": "arn:aws:iam::999999999999:root"}), Value::Null),
        ] {
            assert!(!holds(Some(Invoker::HttpApi), std::slice::from_ref(&bad)), "{bad}");
            assert!(!holds(Some(Invoker::HttpApi), &[http(), bad.clone()]), "beside the right one: {bad}");
            assert!(!holds(None, std::slice::from_ref(&bad)), "{bad}");
        }
        let mut refused = http();
        refused["Effect"] = json!("Deny");
        assert!(!holds(Some(Invoker::HttpApi), &[http(), refused]));
        assert!(!holds(Some(Invoker::Schedule), &[statement(service("events.amazonaws.com"), json!(API))]));
    }
}
