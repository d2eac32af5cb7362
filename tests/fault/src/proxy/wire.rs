//! The connection upstream that belongs to one connection of a client.

use super::{BoxError, exchange::Request};
use bytes::Bytes;
use http::{
    HeaderMap, Response, StatusCode, Version,
    header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING},
};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use tokio::{net::TcpStream, sync::Mutex};

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    pub(super) fn new(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        Self { status, headers, body }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn body(&self) -> &Bytes {
        &self.body
    }

    pub(super) fn with_body(mut self, body: Bytes) -> Self {
        self.body = body;
        self
    }

    pub(super) fn into_response(self) -> Response<Bytes> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        for header in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            response.headers_mut().remove(header);
        }
        response
    }
}

/// Opened by the first request, and again if the other side closed it.
pub(super) struct Upstream {
    address: SocketAddr,
    one: Mutex<Option<http1::SendRequest<Full<Bytes>>>>,
    two: Mutex<Option<http2::SendRequest<Full<Bytes>>>>,
}

impl Upstream {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, one: Mutex::new(None), two: Mutex::new(None) }
    }

    async fn connect(&self) -> Result<TokioIo<TcpStream>, BoxError> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(TokioIo::new(stream))
    }

    /// Passes a request on, in its own version, and reads the answer.
    pub(super) async fn send(&self, request: &Request) -> Result<Answer, BoxError> {
        let response = if request.version() == Version::HTTP_2 {
            let mut sender = self.second().await?;
            sender.send_request(request.to_http()).await?
        } else {
            // One at a time, body included, as the version has it.
            let mut slot = self.one.lock().await;
            if !slot.as_mut().is_some_and(|sender| sender.is_ready()) {
                let (sender, connection) = http1::handshake(self.connect().await?).await?;
                tokio::spawn(connection);
                *slot = Some(sender);
            }
            let Some(sender) = slot.as_mut() else { unreachable!("it was just put there") };
            sender.ready().await?;
            let response = sender.send_request(request.to_http()).await?;
            return read(response).await;
        };
        read(response).await
    }

    async fn second(&self) -> Result<http2::SendRequest<Full<Bytes>>, BoxError> {
        let mut slot = self.two.lock().await;
        if let Some(sender) = slot.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let (sender, connection) = http2::handshake(TokioExecutor::new(), self.connect().await?).await?;
        tokio::spawn(connection);
        *slot = Some(sender.clone());
        Ok(sender)
    }
}

async fn read(response: Response<hyper::body::Incoming>) -> Result<Answer, BoxError> {
    let (head, body) = response.into_parts();
    Ok(Answer { status: head.status, headers: head.headers, body: body.collect().await?.to_bytes() })
}
