//! Binding to 127.0.0.1, with an error that says which flag to change.

use anyhow::Context;
use std::net::Ipv4Addr;
use tokio::net::TcpListener;

/// A listener on `port` of 127.0.0.1 (0: any free port), and its URL.
pub(crate) async fn bind(port: u16, flag: &str) -> anyhow::Result<(TcpListener, String)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.with_context(|| {
        format!("port {port} of 127.0.0.1 cannot be used; choose another with {flag} PORT (0: any free port)")
    })?;
    let url = format!("http://{}", listener.local_addr()?);
    Ok((listener, url))
}
