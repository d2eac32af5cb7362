//! Lists of refunds: newest first, page by page, each status and each project for itself (G8).

use crate::support::{TestApp, eventually, refund};
use serde_json::{Value, json};

/// All pages of a status as acme.
async fn pages(app: &TestApp, status: &str, limit: usize) -> Vec<Vec<Value>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = app.get(&format!("/v1/refunds?status={status}&limit={limit}{cursor}"), 200).await.body;
        pages.push(page["refunds"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return pages,
        }
    }
}

async fn ids(app: &TestApp, status: &str, limit: usize) -> Vec<String> {
    pages(app, status, limit).await.concat().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn pages_hold_every_refund_of_a_status_once_newest_first() {
    let app = TestApp::start().await;
    let mut created = Vec::new();
    for number in 0..7 {
        created.push(app.created(&refund(&format!("k{number}"), "pi")).await);
        app.advance(1);
    }
    app.post_to("/v1/refunds", "globex", &refund("k0", "pi")).await.expect(201);
    created.reverse();
    // The index follows the table.
    eventually("all are listed", async || (ids(&app, "pending", 20).await == created).then_some(())).await;
    for limit in [1, 2, 3, 7, 100] {
        let pages = pages(&app, "pending", limit).await;
        assert!(
            pages.iter().rev().skip(1).all(|page| page.len() == limit)
                && pages.last().is_some_and(|page| !page.is_empty())
        );
        assert_eq!(ids(&app, "pending", limit).await, created, "limit {limit}");
    }
    let (approved, rejected) = (&created[2], &created[4]);
    app.decide("acme", approved, "approve").await.expect(200);
    app.decide("acme", rejected, "reject").await.expect(200);
    eventually("decided ones move", async || {
        let moved = ids(&app, "approved", 20).await == [approved.as_str()]
            && ids(&app, "rejected", 20).await == [rejected.as_str()]
            && ids(&app, "pending", 3).await.len() == 5;
        moved.then_some(())
    })
    .await;
    // A row is the refund without its events.
    let row = pages(&app, "rejected", 1).await.concat().remove(0);
    let mut whole = app.refund(rejected).await;
    assert!(whole.as_object_mut().unwrap().remove("events").is_some());
    assert_eq!(row, whole);
    app.stop().await;
}

#[tokio::test]
async fn a_page_needs_a_status_a_limit_within_bounds_and_a_cursor_of_ours() {
    let app = TestApp::start().await;
    for query in
        ["", "?status=open", "?status=pending&limit=0", "?status=pending&limit=101", "?status=pending&cursor=x"]
    {
        app.get(&format!("/v1/refunds{query}"), 400).await.problem(400, "validation_failed");
    }
    let empty = app.get("/v1/refunds?status=pending", 200).await.body;
    assert_eq!(empty, json!({"refunds": [], "next_cursor": null}));
    app.get("/v1/refunds/?status=pending", 404).await.problem(404, "not_found");
    app.stop().await;
}
