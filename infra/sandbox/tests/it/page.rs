//! The page: phones show what devices got, the table shows every request, and nothing gets out of its place.

use crate::{
    apns::{TOKEN, good},
    client::{SEND, World, message, world},
    frames::{Connection, Request},
};
use serde_json::{Value, json};

/// A message with these texts and a tag.
fn tagged(token: &str, title: &str, tag: &str) -> Value {
    let mut message = message(token);
    message["message"]["notification"]["title"] = json!(title);
    message["message"]["android"]["notification"]["tag"] = json!(tag);
    message
}

/// The part with the phones and the part with the table.
async fn parts(world: &World) -> (String, String) {
    let text = world.get("/").await.text;
    let (phones, table) = text.split_once("<h2 id=\"h-requests\">").unwrap();
    (phones.split_once("<ul id=\"phones\">").unwrap().1.to_owned(), table.to_owned())
}

/// Sends all with one access token.
async fn send_all(world: &World, messages: impl Iterator<Item = Value>) {
    let bearer = format!("Bearer {}", world.access_token().await);
    for message in messages {
        world.call("POST", SEND, &[("authorization", &bearer)], &message.to_string()).await.unwrap();
    }
}

#[tokio::test]
async fn whatever_arrived_is_escaped() {
    let world = world().await;
    assert!(world.get("/").await.text.contains("Nothing yet"));
    world.send(&message("first")).await.unwrap();
    let mut evil = message("<script>alert(1)</script>");
    evil["message"]["notification"] =
        json!({"title": "<b>&\"'", "body": "</li></ul><img src=x>", "image": "https://images.example/\"><img src=y>"});
    evil["message"]["data"] = json!({"</td><script>": "</tbody>"});
    world.send(&evil).await.unwrap();
    let mut silent = evil.clone();
    silent["message"].as_object_mut().unwrap().remove("notification");
    silent["message"]["android"].as_object_mut().unwrap().remove("notification");
    world.send(&silent).await.unwrap();
    let page = world.get("/").await;
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(page.text.matches("<script").count(), 1, "{}", page.text);
    assert_eq!((page.text.matches("</ul>").count(), page.text.matches("</tbody>").count()), (1, 1));
    for tag in ["<img", "<b>&"] {
        assert!(!page.text.contains(tag), "{}", page.text);
    }
    let (phones, table) = parts(&world).await;
    assert!(phones.contains("&lt;b&gt;&amp;&quot;&#39;") && table.contains("&lt;b&gt;&amp;&quot;&#39;"));
    assert!(phones.contains("https://images.example/&quot;&gt;&lt;img"), "{phones}");
}

#[tokio::test]
async fn the_newest_comes_first() {
    let world = world().await;
    for (token, title, tag) in [("pixel", "one", "1"), ("tablet", "two", "2"), ("pixel", "three", "3")] {
        world.send(&tagged(token, title, tag)).await.unwrap();
    }
    let (phones, table) = parts(&world).await;
    let order = |text: &str, words: [&str; 3]| {
        let at = words.map(|word| text.find(&format!(">{word}<")).unwrap_or_else(|| panic!("{word} in {text}")));
        assert!(at.is_sorted(), "{words:?} in {text}");
    };
    order(&phones, ["three", "one", "two"]);
    order(&phones, ["pixel", "one", "tablet"]);
    order(&table, ["three", "two", "one"]);
    assert_eq!(phones.matches("class=\"phone\"").count(), 2);
}

#[tokio::test]
async fn a_later_one_replaces_its_first() {
    let world = world().await;
    for (token, title, tag) in [
        ("pixel", "cooking", "order"),
        ("pixel", "other", "another"),
        ("pixel", "riding", "order"),
        ("tablet", "elsewhere", "order"),
        ("pixel", "there", "order"),
    ] {
        world.send(&tagged(token, title, tag)).await.unwrap();
    }
    // A silent push takes nobody's place.
    let mut silent = tagged("pixel", "", "order");
    silent["message"].as_object_mut().unwrap().remove("notification");
    world.send(&silent).await.unwrap();
    let (phones, table) = parts(&world).await;
    for gone in ["cooking", "riding"] {
        assert!(!phones.contains(gone) && table.contains(gone), "{gone} in {phones}");
    }
    for stays in ["there", "other", "elsewhere", "Silent push"] {
        assert!(phones.contains(stays), "{stays} in {phones}");
    }
    assert_eq!((phones.matches("replaced 2×").count(), phones.matches("class=\"replaced\"").count()), (1, 1));
}

#[tokio::test]
async fn an_ios_phone_names_app_and_image() {
    let world = world().await;
    let mut connection = Connection::open(&world.base_url).await;
    let body = |title: &str| {
        let aps = json!({"alert": {"title": title, "body": "on its way"}, "mutable-content": 1});
        json!({"aps": aps, "image": "https://images.example/parcel.png"}).to_string()
    };
    // One provider token for both: APNs takes no new one so soon.
    let good = good(&world).await;
    for title in ["packed", "shipped"] {
        let answer = connection.send(Request { body: body(title), ..good.clone() }).await.unwrap();
        assert_eq!(answer.status, 200);
    }
    let (phones, _) = parts(&world).await;
    for shown in ["iOS <small>apns</small>", TOKEN, "com.example.acme", "shipped", "on its way", "replaced 1×"] {
        assert!(phones.contains(shown), "{shown} in {phones}");
    }
    assert!(phones.contains("https://images.example/parcel.png") && !phones.contains("packed"), "{phones}");
}

#[tokio::test]
async fn only_what_a_device_got_is_on_a_phone() {
    let world = world().await;
    world.script("refused", &json!([{"status": 503}, "hang"])).await;
    world.send(&tagged("refused", "not now", "1")).await.unwrap();
    assert!(world.send(&tagged("refused", "never", "2")).await.is_none());
    let mut bad = tagged("bad", "malformed", "3");
    bad["message"]["colour"] = json!("red");
    assert_eq!(world.send(&bad).await.unwrap().status, 400);
    let mut only_validated = tagged("validated", "checked", "4");
    only_validated["validate_only"] = json!(true);
    assert_eq!(world.send(&only_validated).await.unwrap().status, 200);
    // Got, though nobody was told.
    world.script("lost", &json!(["drop_after_accept"])).await;
    assert!(world.send(&tagged("lost", "arrived", "5")).await.is_none());
    let (phones, table) = parts(&world).await;
    assert_eq!(phones.matches("class=\"phone\"").count(), 1, "{phones}");
    assert!(phones.contains("arrived"), "{phones}");
    for title in ["not now", "never", "malformed", "checked"] {
        assert!(!phones.contains(title) && table.contains(title), "{title}");
    }
}

#[tokio::test]
async fn the_browser_may_load_nothing_from_elsewhere() {
    let world = world().await;
    for (path, content_type) in [("/", "text/html; charset=utf-8"), ("/page.js", "text/javascript; charset=utf-8")] {
        let answer = world.get(path).await;
        assert_eq!((answer.status, &answer.headers["content-type"]), (200, &content_type.parse().unwrap()));
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        let parts: Vec<&str> = policy.split("; ").collect();
        for part in ["default-src 'none'", "style-src 'unsafe-inline'", "script-src 'self'", "connect-src 'self'"] {
            assert!(parts.contains(&part), "{part} in {policy}");
        }
        assert!(!policy.contains("img-src") && !policy.contains("http"), "{policy}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    }
}

#[tokio::test]
async fn a_version_that_was_seen_is_not_sent_again() {
    let world = world().await;
    let version = |text: &str| {
        let rest = text.split_once("data-version=\"").unwrap().1;
        format!("/?seen={}", rest.split_once('"').unwrap().0)
    };
    let mut seen = vec![version(&world.get("/").await.text)];
    assert_eq!(world.get(&seen[0]).await.status, 204);
    for step in 0..3 {
        if step == 1 {
            world.call("DELETE", "/ledger", &[], "").await.unwrap();
        } else {
            world.send(&message("pixel")).await.unwrap();
        }
        let fresh = world.get(seen.last().unwrap()).await;
        assert_eq!(fresh.status, 200, "step {step}");
        seen.push(version(&fresh.text));
        assert_eq!(world.get(seen.last().unwrap()).await.status, 204, "step {step}");
    }
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), all, "{seen:?}");
}

#[tokio::test]
async fn many_phones_and_many_notifications_are_bounded() {
    let world = world().await;
    send_all(&world, (0..70).map(|n| tagged(&format!("device{n}"), "T", "1"))).await;
    let (phones, _) = parts(&world).await;
    assert_eq!(phones.matches("class=\"phone\"").count(), 64);
    assert!(phones.contains("6 more phones not shown") && phones.contains("device69") && !phones.contains("device5<"));

    world.sandbox.clear_ledger();
    let silent = |_| json!({"message": {"token": "pixel", "data": {"k": "v"}}});
    send_all(&world, (0..200).map(|n| tagged("pixel", &format!("T{n}"), &n.to_string()))).await;
    send_all(&world, (0..10).map(silent)).await;
    let (phones, table) = parts(&world).await;
    assert_eq!(phones.matches("class=\"notification\"").count(), 20);
    assert_eq!(phones.matches("class=\"silent\"").count(), 5);
    assert!(phones.contains("185 older ones not shown") && phones.contains(">T199<") && !phones.contains(">T179<"));
    assert_eq!(table.matches("<tr>").count(), 201, "the head and 200 rows");

    // Far longer than what a provider takes; it is refused, and cut.
    world.sandbox.clear_ledger();
    send_all(&world, std::iter::once(tagged("pixel", &"<".repeat(500_000), "1"))).await;
    let page = world.get("/").await.text;
    assert!(page.len() < 60_000 && page.contains("&lt;…"), "{}", page.len());
}
