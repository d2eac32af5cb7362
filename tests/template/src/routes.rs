//! The HTTP routes: each request reaches the function that answers for it, and whatever no route names reaches api,
//! which refuses it in our own words.

use crate::{
    Faults, equal,
    read::{functions, named, of_type},
};
use sendonce_http::contract::{ROUTES, Route};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The one HTTP API.
const API: &str = "HttpApi";

/// Every function that answers HTTP, with the requests of the contract that are its own.
fn contracts() -> [(&'static str, Vec<String>); 2] {
    let requests = |of: fn(Route) -> bool| {
        let rows = ROUTES.iter().filter(|row| of(row.route));
        rows.map(|row| format!("{} {}", row.method.to_uppercase(), row.path)).collect()
    };
    [
        ("api", requests(|route| !matches!(route, Route::Refunds(_)))),
        ("refunds", requests(|route| matches!(route, Route::Refunds(_)))),
    ]
}

/// How well a route key fits a request, as API Gateway weighs them: a whole path before a greedy one, a method before
/// any, `$default` last (API Gateway Developer Guide, "Routes for HTTP APIs"). `None`: not at all.
pub(crate) fn fits(key: &str, request: &str) -> Option<(bool, usize, bool)> {
    if key == "$default" {
        return Some((false, 0, false));
    }
    let ((key_method, key_path), (method, path)) = (key.split_once(' ')?, request.split_once(' ')?);
    let (mut literal, mut steps) = (1, path.split('/'));
    for part in key_path.split('/') {
        if part.ends_with("+}") {
            return (steps.next().is_some() && [method, "ANY"].contains(&key_method)).then_some((
                false,
                literal,
                key_method != "ANY",
            ));
        }
        let step = steps.next()?;
        if part == step {
            literal += 1;
        } else if !part.starts_with('{') {
            return None;
        }
    }
    let fits = steps.next().is_none() && [method, "ANY"].contains(&key_method);
    fits.then_some((true, literal, key_method != "ANY"))
}

/// The function that a route leads to.
fn function_of<'a>(template: &'a Value, route: &Value) -> &'a str {
    let target = route["Properties"]["Target"]["Fn::Sub"].as_str().unwrap_or_default();
    let integration = target.trim_start_matches("integrations/${").trim_end_matches('}');
    named(&template["Resources"][integration]["Properties"]["IntegrationUri"]).unwrap_or_default()
}

/// Each route's key, with the binary of the function that it leads to.
pub(crate) fn keys(template: &Value) -> Vec<(&str, Option<&str>)> {
    let binaries: BTreeMap<&str, &str> = functions(template).iter().map(|f| (f.name, f.binary)).collect();
    let routes = of_type(template, "AWS::ApiGatewayV2::Route").map(|(_, route)| {
        let key = route["Properties"]["RouteKey"].as_str().unwrap_or_default();
        (key, binaries.get(function_of(template, route)).copied())
    });
    routes.collect()
}

/// What is wrong with the routes.
#[must_use]
pub fn faults(template: &Value) -> Faults {
    let mut faults = Faults::new();
    let routes = keys(template);
    for (name, route) in of_type(template, "AWS::ApiGatewayV2::Route") {
        let function = function_of(template, route);
        let route = &route["Properties"];
        let invoked = of_type(template, "AWS::Lambda::Permission")
            .any(|(_, permission)| named(&permission["Properties"]["FunctionName"]) == Some(function));
        equal(&mut faults, &format!("that API Gateway may invoke the function of {name}"), invoked, true);
        equal(&mut faults, &format!("the API of {name}"), named(&route["ApiId"]), Some(API));
    }
    let default = routes.iter().find(|(key, _)| *key == "$default").and_then(|(_, binary)| *binary);
    equal(&mut faults, "who answers what no route names", default, Some("api"));
    for (binary, requests) in contracts() {
        for request in &requests {
            let best = routes.iter().filter_map(|(key, to)| Some((fits(key, request)?, *to))).max();
            equal(&mut faults, &format!("who answers {request}"), best.and_then(|(_, to)| to), Some(binary));
        }
    }
    let all: Vec<String> = contracts().into_iter().flat_map(|(_, requests)| requests).collect();
    for (key, _) in routes.iter().filter(|(key, _)| *key != "$default") {
        if !all.iter().any(|request| fits(key, request).is_some()) {
            faults.push(format!("no function has a route that {key} fits"));
        }
    }
    for (name, integration) in of_type(template, "AWS::ApiGatewayV2::Integration") {
        let integration = &integration["Properties"];
        let version = integration["PayloadFormatVersion"].as_str();
        equal(&mut faults, &format!("the payload format of {name}"), version, Some("2.0"));
        equal(&mut faults, &format!("the type of {name}"), integration["IntegrationType"].as_str(), Some("AWS_PROXY"));
        equal(&mut faults, &format!("the API of {name}"), named(&integration["ApiId"]), Some(API));
    }
    permissions(template, &mut faults);
    let stages: Vec<(&str, &Value)> = of_type(template, "AWS::ApiGatewayV2::Stage").collect();
    equal(&mut faults, "the number of stages", stages.len(), 1);
    for (name, stage) in stages {
        let stage = &stage["Properties"];
        // Any other name would be a part of every path, and a stage that is not deployed by itself keeps its old routes.
        equal(&mut faults, &format!("StageName of {name}"), &stage["StageName"], &json!("$default"));
        equal(&mut faults, &format!("AutoDeploy of {name}"), &stage["AutoDeploy"], &json!(true));
        equal(&mut faults, &format!("the API of {name}"), named(&stage["ApiId"]), Some(API));
        let settings = &stage["DefaultRouteSettings"];
        for limit in ["ThrottlingRateLimit", "ThrottlingBurstLimit"] {
            equal(&mut faults, &format!("that {name} has a {limit}"), named(&settings[limit]).is_some(), true);
        }
        // Metrics by route are paid for, and nothing looks at them: the alarms' are those of the whole API.
        let detailed = &settings["DetailedMetricsEnabled"];
        equal(&mut faults, &format!("DetailedMetricsEnabled of {name}"), detailed, &Value::Null);
    }
    faults
}

/// Who may invoke a function: API Gateway, for this API's requests and for no other's. Without a source any API of any
/// account could.
fn permissions(template: &Value, faults: &mut Faults) {
    let api = "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${HttpApi}/*".replace("HttpApi", API);
    for (name, permission) in of_type(template, "AWS::Lambda::Permission") {
        let permission = &permission["Properties"];
        for (member, must) in [
            ("Action", json!("lambda:InvokeFunction")),
            ("Principal", json!("apigateway.amazonaws.com")),
            ("SourceArn", json!({"Fn::Sub": api})),
        ] {
            equal(faults, &format!("{member} of {name}"), &permission[member], &must);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_route_wins() {
        let best = |request: &str| {
            let keys =
                ["$default", "ANY /v1/refunds/{rest+}", "GET /v1/refunds/{id}", "GET /v1/refunds", "ANY /v1/refunds"];
            keys.into_iter().filter_map(|key| Some((fits(key, request)?, key))).max().unwrap().1
        };
        assert_eq!(best("GET /v1/refunds"), "GET /v1/refunds");
        assert_eq!(best("POST /v1/refunds"), "ANY /v1/refunds");
        assert_eq!(best("GET /v1/refunds/rf_1"), "GET /v1/refunds/{id}");
        assert_eq!(best("POST /v1/refunds/rf_1/approve"), "ANY /v1/refunds/{rest+}");
        assert_eq!(best("GET /v1/refunds/"), "GET /v1/refunds/{id}");
        assert_eq!(best("GET /healthz"), "$default");
    }
}
