//! The admin command as a process: what it answers, what it leaves behind, and what it says when something is missing.

use super::support::{DEAD, DELIVERIES, PARKING, PAYOUTS, TestApp, eventually, logs, push, push_to, tokens};
use crate::process::built;
use ::http::Method;
use aws_lc_rs::{
    encoding::AsDer,
    rsa::{KeyPair, KeySize},
};
use platform::{AwsTimeouts, aws_config_at};
use serde_json::{Value, json};
use std::{collections::BTreeMap, process::Stdio};
use tokio::{io::AsyncWriteExt, process::Command};

/// What a run said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The answer in JSON, which must be one line, with this exit code.
    #[track_caller]
    pub(crate) fn json(&self, code: i32) -> Value {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.out).unwrap()
    }

    /// It was not done, for this reason, and nothing was answered.
    #[track_caller]
    pub(crate) fn failed(&self, why: &str) {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{self:?}");
        assert!(self.err.contains(why), "{self:?}");
    }
}

/// The command, and the variables that it finds a system by.
pub(crate) struct Sendonce {
    program: std::path::PathBuf,
    pub(crate) environment: BTreeMap<&'static str, String>,
}

impl Sendonce {
    pub(crate) async fn of(app: &TestApp) -> Self {
        let program = tokio::task::spawn_blocking(|| built("sendonce")).await.unwrap();
        let ready = app.system.ready();
        let environment = BTreeMap::from([
            ("TABLE_NAME", app.table.clone()),
            ("DELIVERIES_QUEUE_URL", app.queues.url(DELIVERIES).await),
            ("PAYOUTS_QUEUE_URL", app.queues.url(PAYOUTS).await),
            ("TIMING", "short".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "local".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "local".to_owned()),
            ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", ready.dynamodb.clone()),
            ("AWS_ENDPOINT_URL_SQS", ready.sqs.clone()),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", ready.sandbox.clone()),
            ("STRIPE_URL", ready.sandbox.clone()),
        ]);
        Self { program, environment }
    }

    /// Runs it with this on its stdin.
    pub(crate) async fn with_input(&self, arguments: &[&str], input: &str) -> Said {
        let mut command = Command::new(&self.program);
        command.args(arguments).env_clear().envs(&self.environment).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that refuses its command line reads nothing.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = child.wait_with_output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs it with a stdout that takes nothing.
    pub(crate) async fn unread(&self, arguments: &[&str]) -> Said {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(&self.program);
        command.args(arguments).env_clear().envs(&self.environment).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
        // `output` would put a pipe in the place of this stdout.
        let output = command.spawn().unwrap().wait_with_output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs it.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Said {
        self.with_input(arguments, "").await
    }

    /// Runs it with `--json`; it must end with this code.
    pub(crate) async fn json(&self, arguments: &[&str], code: i32) -> Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        self.run(&all).await.json(code)
    }
}

async fn status(app: &TestApp, key: &str) -> u16 {
    let authorization = format!("Bearer {key}");
    let url = format!("{}/v1/messages?idempotency_key=none", app.system.ready().api);
    app.http.send(&Method::GET, &url, &[("authorization", &authorization)], "").await.status.as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projects_are_created_listed_and_changed() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    let names = async || {
        let listed = sendonce.json(&["projects", "list"], 0).await;
        listed["projects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p["project"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["acme", "globex"]);
    // A name that is a message's sort key, and one that begins like another.
    for name in ["m", "acme-2"] {
        let made =
            sendonce.json(&["projects", "create", name, "--app", "com.example.b", "--app", "com.example.a"], 0).await;
        assert_eq!(made, json!({"project": name, "apps": ["com.example.b", "com.example.a"]}));
    }
    assert_eq!(names().await, ["acme", "acme-2", "globex", "m"]);
    // A repeat is harmless; other settings are not overwritten.
    sendonce.json(&["projects", "create", "m", "--app", "com.example.b", "--app", "com.example.a"], 0).await;
    sendonce.run(&["projects", "create", "m", "--app", "com.example.x"]).await.failed("exists with other settings");
    let changed = sendonce.json(&["projects", "set-apps", "m", "--app", "com.example.c"], 0).await;
    assert_eq!(changed["apps"], json!(["com.example.c"]));
    assert_eq!(sendonce.json(&["projects", "show", "m"], 0).await, changed);
    sendonce.run(&["projects", "show", "nobody"]).await.failed("there is no project nobody");
    sendonce.run(&["projects", "create", "No"]).await.failed("a project's name has");
    let text = sendonce.run(&["projects", "list"]).await;
    assert!(text.out.starts_with("PROJECT  APPS\nacme     com.example.acme, com.example.acme.beta\n"), "{}", text.out);
    app.drained().await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_shown_once_works_and_is_ended() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    let create = ["keys", "create", "--project", "acme", "--name", "ci@acme.example", "--scope", "messages:read"];
    let made = sendonce.json(&create, 0).await;
    let (key, id) = (made["api_key"].as_str().unwrap().to_owned(), made["id"].as_str().unwrap().to_owned());
    logs::secret(&key);
    assert!(key.starts_with("sendonce_") && key.len() == 61, "{key}");
    assert_eq!(status(&app, &key).await, 404, "it opens the API");

    let listed = async || {
        let said = sendonce.json(&["keys", "list", "--project", "acme"], 0).await;
        assert!(!said.to_string().contains(&key[9..]), "no key is listed");
        said["keys"].as_array().unwrap().clone()
    };
    let mine = async |id: &str| listed().await.into_iter().find(|key| key["id"] == id).unwrap();
    assert_eq!(listed().await.len(), 4, "those that the system began with, and this one");
    let entry = mine(&id).await;
    assert_eq!((&entry["name"], &entry["valid"]), (&json!("ci@acme.example"), &json!(true)));
    assert_eq!(entry["scopes"], json!(["messages:read"]));
    assert!(entry["created_at"].is_string());

    // Rotated: both work until the old one's time comes; the new one has the same name and scopes.
    let rotated = sendonce.json(&["keys", "rotate", &id, "--project", "acme", "--overlap-hours", "1"], 0).await;
    let next = rotated["api_key"].as_str().unwrap().to_owned();
    logs::secret(&next);
    assert_eq!((&rotated["name"], &rotated["scopes"]), (&entry["name"], &entry["scopes"]));
    app.advance(3);
    assert_eq!((status(&app, &key).await, status(&app, &next).await), (404, 404));
    sendonce.run(&["keys", "rotate", &id, "--project", "acme"]).await.failed("is revoked");
    app.advance(3_600);
    assert_eq!((status(&app, &key).await, status(&app, &next).await), (401, 404));

    let next_id = rotated["id"].as_str().unwrap();
    let revoke = ["keys", "revoke", next_id, "--project", "acme"];
    assert_eq!(sendonce.json(&revoke, 0).await["already_revoked"], false);
    app.advance(3);
    assert_eq!(status(&app, &next).await, 401);
    assert_eq!(sendonce.json(&revoke, 0).await["already_revoked"], true);
    assert_eq!(mine(next_id).await["valid"], false);
    // What a rotation had planned, a revocation brings nearer and a later one does not put off.
    let made = sendonce.json(&create, 0).await;
    let id = made["id"].as_str().unwrap();
    logs::secret(made["api_key"].as_str().unwrap());
    let replaced = sendonce.json(&["keys", "rotate", id, "--project", "acme"], 0).await;
    logs::secret(replaced["api_key"].as_str().unwrap());
    assert_eq!(sendonce.json(&["keys", "revoke", id, "--project", "acme"], 0).await["already_revoked"], false);

    sendonce.run(&["keys", "revoke", next_id, "--project", "globex"]).await.failed("has no API key");
    sendonce.run(&["keys", "revoke", "key_x", "--project", "acme"]).await.failed("an id of an API key is");
    sendonce.run(&["keys", "list", "--project", "nobody"]).await.failed("there is no project nobody");
    // In a refund's trail these would look like the function that pays, or an event of the provider's.
    for name in ["payout", "evt_1"] {
        let create = ["keys", "create", "--project", "acme", "--name", name, "--scope", "refunds:decide"];
        sendonce.run(&create).await.failed("would look like no person's in a refund's trail");
    }
    let none = ["keys", "create", "--project", "acme", "--name", "a", "--scope", "messages:sing"];
    sendonce.run(&none).await.failed("there is no scope messages:sing; there are messages:send,");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_are_stored_if_they_can_be_any_and_checked() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    let secrets = aws_sdk_secretsmanager::Client::new(
        &aws_config_at(AwsTimeouts::within(20_000), &app.system.ready().sandbox).await,
    );
    let stored = async |name: &str| {
        let answer = secrets.get_secret_value().secret_id(name).send().await.unwrap();
        (answer.secret_string.unwrap(), answer.version_id.unwrap())
    };
    let checked = sendonce.json(&["credentials", "check", "--project", "acme"], 0).await;
    let told: Vec<_> =
        checked["checks"].as_array().unwrap().iter().map(|c| json!([c["provider"], c["works"]])).collect();
    assert_eq!(told, [json!(["apns", true]), json!(["fcm", true]), json!(["stripe", true])]);

    // The same key file again: a new version, and it works.
    let (good, version) = stored("sendonce/acme/fcm").await;
    let put = ["--json", "credentials", "put", "--project", "acme", "--provider", "fcm", "--file", "-"];
    let again = sendonce.with_input(&put, &good).await.json(0);
    assert_eq!(again["check"]["works"], true);
    assert_ne!(again["version"], version);

    // What can be no credential leaves what is stored alone.
    for (bad, why) in [("{}", "member project_id is missing"), ("no JSON", "it is not a JSON object")] {
        sendonce.with_input(&put, bad).await.failed(why);
    }
    assert_eq!(stored("sendonce/acme/fcm").await.1, again["version"]);

    // A key of nobody's has the right form; the provider refuses it.
    let der = KeyPair::generate(KeySize::Rsa2048).unwrap().as_der().unwrap();
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        data_encoding::BASE64.encode(der.as_ref())
    );
    let mut other: Value = serde_json::from_str(&good).unwrap();
    other["private_key"] = json!(pem);
    let said = sendonce.with_input(&put, &other.to_string()).await;
    assert!(!said.out.contains("PRIVATE KEY") && !said.err.contains("PRIVATE KEY"));
    let refused = said.json(3);
    assert_eq!((&refused["check"]["works"], &refused["check"]["refused"]), (&json!(false), &json!(true)));
    let checked = sendonce.json(&["credentials", "check", "--project", "acme", "--provider", "fcm"], 3).await;
    assert!(checked["checks"][0]["report"].as_str().unwrap().contains("refuses the key"), "{checked}");
    sendonce.with_input(&put, &good).await.json(0);

    // Apple's key as the portal gives it: a file and two ids; the project's apps are the credentials'.
    let (apns, _) = stored("sendonce/acme/apns").await;
    let apns: Value = serde_json::from_str(&apns).unwrap();
    sendonce.json(&["projects", "create", "initech", "--app", "com.example.initech"], 0).await;
    let put = ["credentials", "put", "--project", "initech", "--provider", "apns", "--file", "-", "--no-check"];
    let key = apns["key"].as_str().unwrap();
    sendonce.with_input(&put, key).await.failed("give --key-id and --team-id");
    let mut with_ids = put.to_vec();
    with_ids.extend(["--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ", "--environment", "sandbox"]);
    assert_eq!(sendonce.with_input(&with_ids, key).await.code, 0);
    let (secret, _) = stored("sendonce/initech/apns").await;
    let secret: Value = serde_json::from_str(&secret).unwrap();
    assert_eq!((&secret["apps"], &secret["environment"]), (&json!(["com.example.initech"]), &json!("sandbox")));
    // Credentials for other apps than the project's would send a message to the wrong one.
    sendonce.with_input(&put, &apns.to_string()).await.failed("must be the project's first");

    // Stripe's, which a refund needs: the same rules.
    let (good, version) = stored("sendonce/acme/stripe").await;
    let put = ["--json", "credentials", "put", "--project", "acme", "--provider", "stripe", "--file", "-"];
    let again = sendonce.with_input(&put, &good).await.json(0);
    assert_eq!((&again["secret"], &again["check"]["works"]), (&json!("sendonce/acme/stripe"), &json!(true)));
    assert_ne!(again["version"], version);
    for (bad, why) in [
        ("{}", "these cannot be credentials for stripe: member api_key is missing"),
        (r#"{"api_key": "sk_test_1", "webhook_secrets": []}"#, "member webhook_secrets must be a list"),
    ] {
        sendonce.with_input(&put, bad).await.failed(why);
    }
    assert_eq!(stored("sendonce/acme/stripe").await.1, again["version"]);
    let nobodys = "sk_test_a_key_of_nobody_s";
    logs::secret(nobodys);
    let said = sendonce.with_input(&put, &json!({"api_key": nobodys}).to_string()).await;
    assert!(!said.out.contains(nobodys) && !said.err.contains(nobodys), "{said:?}");
    let refused = said.json(3);
    assert_eq!((&refused["check"]["works"], &refused["check"]["refused"]), (&json!(false), &json!(true)));
    assert!(refused["check"]["report"].as_str().unwrap().contains("Stripe refuses this API key"), "{refused}");
    sendonce.with_input(&put, &good).await.json(0);
    let missing = sendonce.json(&["credentials", "check", "--project", "initech", "--provider", "stripe"], 3).await;
    assert!(missing["checks"][0]["report"].as_str().unwrap().contains("There is no secret"), "{missing}");
    let missing = sendonce.json(&["credentials", "check", "--project", "initech", "--provider", "fcm"], 3).await;
    assert!(missing["checks"][0]["report"].as_str().unwrap().contains("There is no secret"), "{missing}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_found_by_id_and_by_key_and_its_items_are_spelt() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    let devices = tokens("spelt", 21);
    app.script(&devices[20], &json!([{"status": 404, "reason": "UNREGISTERED"}])).await;
    let id = app.queued(&push_to("spelt", &devices)).await;
    let as_read = app.reaches(&id, "partial").await;
    let shown = sendonce.json(&["messages", "show", &id], 0).await;
    // What GET says, and what only an operator asks for.
    for (name, value) in as_read.as_object().unwrap() {
        assert_eq!(&shown[name], value, "{name}");
    }
    assert_eq!((&shown["project"], &shown["chunks"]), (&json!("acme"), &json!({"all": 2, "begun": 2})));
    assert_eq!(sendonce.json(&["messages", "show", "--project", "acme", "--key", "spelt"], 0).await, shown);
    let text = sendonce.run(&["messages", "show", &id]).await.out;
    assert!(text.contains("status      partial") && text.contains("UNREGISTERED"), "{text}");

    let raw = sendonce.json(&["messages", "show", &id, "--raw"], 0).await;
    let items = raw["items"].as_array().unwrap();
    assert_eq!(items.len(), 3);
    assert_eq!((&items[0]["sort_key"], &items[0]["attributes"]["nd"]["value"]), (&json!("M"), &json!(21)));
    assert_eq!(items[2]["attributes"]["r"]["value"], "F");
    assert!(items[2]["attributes"]["r"]["means"].as_str().unwrap().contains("F failed"));
    let text = sendonce.run(&["messages", "show", "--project", "acme", "--key", "spelt", "--raw"]).await.out;
    assert!(text.contains("accepted at, ms since 1970"), "{text}");
    for said in [raw.to_string(), text, shown.to_string()] {
        assert!(!said.contains(&devices[0]) && said.contains(&devices[0][devices[0].len() - 6..]), "{said}");
    }

    sendonce
        .run(&["messages", "show", "--project", "globex", "--key", "spelt"])
        .await
        .failed("there is no such message");
    sendonce.run(&["messages", "show", "msg_1"]).await.failed("msg_1 is no message id");
    assert_eq!(sendonce.run(&["messages", "show", "--key", "spelt"]).await.code, 2);
    assert_eq!(sendonce.run(&["messages", "show"]).await.code, 2);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_are_shown_and_sent_back_and_an_audit_is_made() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    app.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    let id = app.queued(&push("worn", "device-of-worn-000001")).await;
    let other = app.queued(&push("worn-2", "device-of-worn-000002")).await;
    app.queues.wear_out(2).await;
    app.queues.send(DEAD, r#"{"type":"deliver_v9","token":"device-of-worn-000003"}"#).await;

    let shown = sendonce.run(&["--json", "dead-letters", "show"]).await;
    assert!(!shown.out.contains("device-of"), "{}", shown.out);
    let shown = shown.json(0);
    assert_eq!(shown["waiting"], 3);
    let letters = shown["letters"].as_array().unwrap();
    let about = |id: &str| letters.iter().find(|letter| letter["about"]["id"] == id).unwrap();
    assert_eq!((&about(&id)["type"], &about(&id)["project"]), (&json!("deliver_v1"), &json!("acme")));
    assert_eq!(about(&other)["about"]["chunk"], 0);
    assert!(letters.iter().any(|l| l["fault"].as_str().is_some_and(|fault| fault.contains("deliver_v9"))));
    // A look takes nothing away, and hides nothing.
    let text = sendonce.run(&["dead-letters", "show", "--limit", "3"]).await.out;
    assert!(text.contains("3 shown") && text.contains(&id), "{text}");

    let moved = sendonce.json(&["dead-letters", "redrive"], 0).await;
    assert_eq!((&moved["moved"], &moved["kept"]), (&json!(3), &json!(0)), "{moved}");
    assert_eq!((app.queues.left(DEAD).await, app.queues.left(DELIVERIES).await), (0, 3));
    // What a queue has no dead letters for must be told where to go.
    let named = [app.queues.url(PARKING).await, app.queues.url(DELIVERIES).await];
    app.queues.send(PARKING, r#"{"type":"parked_v1","reason":"no id","what":{}}"#).await;
    let redrive = ["dead-letters", "redrive", "--queue", &named[0]];
    sendonce.run(&redrive).await.failed("say where they go with --to");
    let parked = sendonce.json(&["dead-letters", "show", "--queue", &named[0]], 0).await;
    assert_eq!((&parked["letters"][0]["type"], &parked["letters"][0]["fault"]), (&json!("parked_v1"), &json!("no id")));
    sendonce.run(&["dead-letters", "show", "--queue", "nobodys"]).await.failed("there is no queue nobodys");
    sendonce.run(&["dead-letters", "show", "--of", &named[0]]).await.failed("has no dead-letter queue");

    // Nothing of it is old enough for the audit.
    let report = sendonce.json(&["audit"], 0).await;
    assert_eq!((&report["finished"], &report["enqueued"]["no_delivery_item"]), (&json!(true), &json!(0)));
    let text = sendonce.run(&["audit"]).await.out;
    assert!(
        text.contains("0 chunks without a delivery item") && text.contains("0 payouts due, 0 payouts submitted"),
        "{text}"
    );
    let empty = sendonce.json(&["dead-letters", "redrive"], 0).await;
    assert_eq!(empty["moved"], 0);
    // ministack cannot say whose dead letters a queue has.
    if app.queues.built_in {
        let dead = app.queues.url(DEAD).await;
        let named = sendonce.json(&["dead-letters", "redrive", "--queue", &dead], 0).await;
        assert_eq!((&named["from"], &named["to"]), (&empty["from"], &empty["to"]));
    }
    app.control(&json!({"deliver": "resume", "relay": "resume"}));
    for id in [&id, &other] {
        app.reaches(id, "sent").await;
    }
    // The copy of an unknown version alone is left.
    eventually("the letters are done", async || (app.queues.left(DELIVERIES).await == 1).then_some(())).await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_named_and_every_level_has_help() {
    let app = TestApp::start().await;
    let mut sendonce = Sendonce::of(&app).await;
    let list = ["projects", "list"];
    // --local needs nothing of AWS; these ports are not its usual ones.
    let full = sendonce.environment.clone();
    for name in ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "TIMING", "DELIVERIES_QUEUE_URL"] {
        sendonce.environment.remove(name);
    }
    assert_eq!(sendonce.run(&["--local", "projects", "list"]).await.code, 0);
    for (name, why) in [
        ("AWS_REGION", "no AWS region is set"),
        ("AWS_SECRET_ACCESS_KEY", "of the AWS CLI, version 2, prints them"),
        ("TABLE_NAME", "no table is named: give --outputs or --table NAME, set TABLE_NAME"),
    ] {
        sendonce.environment = full.clone();
        sendonce.environment.remove(name);
        sendonce.run(&list).await.failed(why);
    }
    sendonce.environment = full.clone();
    sendonce.run(&["--table", "elsewhere", "projects", "list"]).await.failed("there is no table elsewhere");
    sendonce.run(&["--timing", "slow", "projects", "list"]).await.failed("--timing is production or short");
    let said = sendonce.run(&["--json", "--table", "elsewhere", "projects", "list"]).await;
    let error: Value = serde_json::from_str(&said.err).unwrap();
    assert!(error["error"].as_str().unwrap().contains("there is no table elsewhere"), "{error}");
    sendonce.environment.remove("DELIVERIES_QUEUE_URL");
    sendonce.run(&["audit"]).await.failed("no queue is named: give --outputs, or set DELIVERIES_QUEUE_URL");
    sendonce.environment.insert("SECRET_NAME", "one-for-all".to_owned());
    sendonce.run(&["credentials", "check", "--project", "acme"]).await.failed("SECRET_NAME must be a name that holds");
    sendonce.environment.insert("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9".to_owned());
    sendonce.run(&["--local", "projects", "list"]).await.failed("Is the local system running");

    let mut levels = vec![vec![]];
    let mut seen = 0;
    while let Some(level) = levels.pop() {
        let mut arguments: Vec<&str> = level.clone();
        arguments.push("--help");
        let said = sendonce.run(&arguments).await;
        assert!(said.code == 0 && said.out.contains("Usage: sendonce") && said.err.is_empty(), "{level:?}: {said:?}");
        seen += 1;
        let commands = said.out.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap();
        for line in commands.lines() {
            let name = line.split_whitespace().next().filter(|_| line.starts_with("  ") && !line.starts_with("   "));
            if let Some(name) = name.filter(|name| *name != "help") {
                let mut next = level.clone();
                next.push(&*name.to_owned().leak());
                levels.push(next);
            }
        }
    }
    assert!(seen >= 20, "only {seen} levels were seen");
    assert_eq!(sendonce.run(&["projects"]).await.code, 2);
    assert_eq!(sendonce.run(&["keys", "create", "--project", "acme", "--name", "a"]).await.code, 2);
    app.stop().await;
}
