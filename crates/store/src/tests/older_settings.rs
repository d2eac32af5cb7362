//! The same as in `older.rs` for what is neither a message nor a refund: projects, API keys, holds, provider tokens, dead
//! tokens and the audit's pass. Written down here once and never changed.

use super::{older::put, support::database};
use crate::{ApiKey, DeadToken, ListedApiKey, Project, ProviderToken, ProviderTokenId, StoredProviderToken};
use protocol::{
    answer::Reason,
    audit::{Pass, Position},
    content::{Device, Platform, Token},
    dead_token::{Death, Entry, TokenKey},
    hold::{Hold, Provider},
    ids::OwnerToken,
};

const PROJECT: &str = r#"{
  "pk": {"S": "P#acme"}, "sk": {"S": "P"},
  "apps": {"L": [{"S": "com.example.acme"}, {"S": "com.example.acme.beta"}]}
}"#;

const LISTED_PROJECT: &str = r#"{"pk": {"S": "L#projects"}, "sk": {"S": "P#acme"}}"#;

const API_KEY: &str = r#"{
  "pk": {"S": "A#0707070707070707070707070707070707070707070707070707070707070707"}, "sk": {"S": "A"},
  "name": {"S": "ada@acme.example"}, "pj": {"S": "acme"},
  "scopes": {"L": [{"S": "messages:send"}, {"S": "messages:read"}]}
}"#;

const REVOKED: &str = r#"{
  "pk": {"S": "A#0808080808080808080808080808080808080808080808080808080808080808"}, "sk": {"S": "A"},
  "name": {"S": "ada@acme.example"}, "pj": {"S": "acme"}, "scopes": {"L": [{"S": "messages:send"}]},
  "revoked_at": {"N": "1795978900000"}
}"#;

/// Entries of a project's list: one whose time was noted, and one as a system starts with.
const LISTED_API_KEYS: [&str; 2] = [
    r#"{"pk": {"S": "P#acme"}, "sk": {"S": "A#0707070707070707070707070707070707070707070707070707070707070707"},
        "created_at": {"N": "1795978800000"}}"#,
    r#"{"pk": {"S": "P#acme"}, "sk": {"S": "A#0808080808080808080808080808080808080808080808080808080808080808"}}"#,
];

const HELD: &str = r#"{
  "pk": {"S": "H#acme#apns"}, "sk": {"S": "H"}, "held": {"BOOL": true},
  "rc": {"S": "InvalidProviderToken"}, "rd": {"S": ""}, "since": {"N": "1795978800123"},
  "pa": {"N": "1795978860123"}, "pn": {"N": "0"}, "sv": {"S": "00000000-0000-4000-8000-000000000001"},
  "o": {"B": "CQkJCQkJCQkJCQkJCQkJCQ=="}, "v": {"N": "1"}
}"#;

const LIFTED: &str = r#"{
  "pk": {"S": "H#acme#fcm"}, "sk": {"S": "H"}, "held": {"BOOL": false},
  "rc": {"S": "credentials_missing"}, "rd": {"S": "There is no secret."}, "since": {"N": "1795979000000"},
  "pa": {"N": "0"}, "pn": {"N": "3"}, "sv": {"S": ""}, "o": {"B": "CQkJCQkJCQkJCQkJCQkJCQ=="}, "v": {"N": "5"}
}"#;

const PROVIDER_TOKEN: &str = r#"{
  "pk": {"S": "J#production#DEF123GHIJ#ABC123DEFG#0a0b0c0d"}, "sk": {"S": "J"},
  "jwt": {"S": "head.claims.signature"}, "iat": {"N": "1795978800"}, "v": {"N": "2"}
}"#;

const DEAD_TOKEN: &str = r#"{
  "pk": {"S": "T#acme#0"},
  "sk": {"S": "android#8c23e8230b01dd022cc617cd7e0473fa48e51f57954356e59c838dceafd74afc"},
  "at": {"N": "1795978700000"}, "exp": {"N": "1803754801"}, "v": {"N": "2"},
  "token": {"S": "pixel-of-ada"}, "rc": {"S": "UNREGISTERED"}, "since": {"N": "1795978800123"},
  "last": {"N": "1795978800124"},
  "li": {"S": "001795978800125#android#8c23e8230b01dd022cc617cd7e0473fa48e51f57954356e59c838dceafd74afc"}
}"#;

/// One that has left the list.
const LIVING_TOKEN: &str = r#"{
  "pk": {"S": "T#acme#0"},
  "sk": {"S": "android#8c23e8230b01dd022cc617cd7e0473fa48e51f57954356e59c838dceafd74afc"},
  "at": {"N": "1795978900000"}, "exp": {"N": "1803754900"}, "v": {"N": "3"}
}"#;

const PASS: &str = r#"{
  "pk": {"S": "U#audit"}, "sk": {"S": "U"}, "started": {"N": "1795978800123"}, "saved": {"N": "1795978860123"},
  "position": {"S": "[\"K#weqv5675gi23gfmyq2gerfucid3czvjn\",\"M\"]"}, "finished": {"BOOL": false},
  "o": {"B": "CQkJCQkJCQkJCQkJCQkJCQ=="}, "v": {"N": "7"}
}"#;

const PASSED: &str = r#"{
  "pk": {"S": "U#audit"}, "sk": {"S": "U"}, "started": {"N": "1795978800123"}, "saved": {"N": "1795978860123"},
  "finished": {"BOOL": true}, "o": {"B": "CQkJCQkJCQkJCQkJCQkJCQ=="}, "v": {"N": "8"}
}"#;

#[tokio::test]
async fn a_project_and_its_api_keys_of_an_earlier_version_are_read_and_listed() {
    let (_, store) = database().await;
    for text in [PROJECT, LISTED_PROJECT, API_KEY, REVOKED, LISTED_API_KEYS[0], LISTED_API_KEYS[1]] {
        put(&store, text).await;
    }
    let project = Project { apps: vec!["com.example.acme".to_owned(), "com.example.acme.beta".to_owned()] };
    assert_eq!(store.project("acme").await.unwrap(), Some(project));
    assert_eq!(store.projects().await.unwrap(), ["acme"]);
    let key = ApiKey {
        project: "acme".to_owned(),
        name: "ada@acme.example".to_owned(),
        scopes: vec!["messages:send".to_owned(), "messages:read".to_owned()],
        revoked_at_ms: None,
    };
    let revoked =
        ApiKey { scopes: vec!["messages:send".to_owned()], revoked_at_ms: Some(1_795_978_900_000), ..key.clone() };
    assert_eq!(store.api_key(&[7; 32]).await.unwrap(), Some((key.clone(), [7; 32])));
    assert_eq!(store.api_key(&[8; 32]).await.unwrap(), Some((revoked.clone(), [8; 32])));
    let listed = |hash, created_at_ms, key| ListedApiKey { hash, created_at_ms, key: Some(key) };
    let all = [listed([7; 32], Some(1_795_978_800_000), key), listed([8; 32], None, revoked)];
    assert_eq!(store.api_keys("acme", "").await.unwrap(), all);
}

#[tokio::test]
async fn a_hold_of_an_earlier_version_is_read() {
    let (_, store) = database().await;
    put(&store, HELD).await;
    let held = Hold {
        held: true,
        reason: Reason { code: "InvalidProviderToken".to_owned(), detail: String::new() },
        since_ms: 1_795_978_800_123,
        probe_at_ms: 1_795_978_860_123,
        probes: 0,
        credentials: "00000000-0000-4000-8000-000000000001".to_owned(),
        tried: Vec::new(),
        by: OwnerToken([9; 16]),
        version: 1,
    };
    assert_eq!(store.hold("acme", Provider::Apns).await.unwrap(), Some(held));
    put(&store, LIFTED).await;
    let lifted = Hold {
        held: false,
        reason: Reason { code: "credentials_missing".to_owned(), detail: "There is no secret.".to_owned() },
        since_ms: 1_795_979_000_000,
        probe_at_ms: 0,
        probes: 3,
        credentials: String::new(),
        tried: Vec::new(),
        by: OwnerToken([9; 16]),
        version: 5,
    };
    assert_eq!(store.hold("acme", Provider::Fcm).await.unwrap(), Some(lifted));
}

#[tokio::test]
async fn a_provider_token_of_an_earlier_version_is_read() {
    let (_, store) = database().await;
    put(&store, PROVIDER_TOKEN).await;
    let id = ProviderTokenId {
        environment: "production",
        team: "DEF123GHIJ",
        key_id: "ABC123DEFG",
        fingerprint: "0a0b0c0d",
    };
    let token = ProviderToken { jwt: "head.claims.signature".into(), issued_s: 1_795_978_800, version: 2 };
    assert_eq!(store.provider_token(id).await.unwrap(), StoredProviderToken::Token(token));
}

#[tokio::test]
async fn a_dead_token_of_an_earlier_version_is_read_and_listed() {
    let (_, store) = database().await;
    put(&store, DEAD_TOKEN).await;
    let device = Device { platform: Platform::Android, token: Token("pixel-of-ada".to_owned()) };
    let key = TokenKey::of(&device);
    let death = Death {
        reason: "UNREGISTERED".to_owned(),
        since_ms: 1_795_978_800_123,
        last_ms: 1_795_978_800_124,
        listed_ms: 1_795_978_800_125,
    };
    let entry = Entry { death: Some(death.clone()), accepted_ms: 1_795_978_700_000, version: 2 };
    assert_eq!(store.dead_tokens("acme", [key]).await.unwrap(), [(key, entry)]);
    let (rows, next) = store.dead_token_page("acme", None, 20, 1_795_979_000_000).await.unwrap();
    assert_eq!((rows.as_slice(), next), ([DeadToken { device, death }].as_slice(), None));

    put(&store, LIVING_TOKEN).await;
    let entry = Entry { death: None, accepted_ms: 1_795_978_900_000, version: 3 };
    assert_eq!(store.dead_tokens("acme", [key]).await.unwrap(), [(key, entry)]);
    let (rows, _) = store.dead_token_page("acme", None, 20, 1_795_979_000_000).await.unwrap();
    assert_eq!(rows, []);
}

#[tokio::test]
async fn a_pass_of_an_earlier_version_is_read() {
    let (_, store) = database().await;
    put(&store, PASS).await;
    let pass = Pass {
        started_ms: 1_795_978_800_123,
        saved_ms: 1_795_978_860_123,
        position: Some(Position(r#"["K#weqv5675gi23gfmyq2gerfucid3czvjn","M"]"#.to_owned())),
        finished: false,
        owner: OwnerToken([9; 16]),
        version: 7,
    };
    assert_eq!(store.pass().await.unwrap().as_ref(), Some(&pass));
    put(&store, PASSED).await;
    assert_eq!(store.pass().await.unwrap(), Some(Pass { position: None, finished: true, version: 8, ..pass }));
}
