//! Between the socket and the h2 crate's state machine: the frames that the crate cannot be asked to send.
//!
//! Frames go through unchanged, with three exceptions (RFC 9113): the first SETTINGS says that one stream is allowed;
//! SETTINGS and GOAWAY frames of ours are put between the crate's; and the client's acknowledgements of our SETTINGS
//! are kept from the crate, which knows nothing of them.

use bytes::{Buf, BytesMut};
use std::{
    collections::VecDeque,
    io,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream},
    net::TcpStream,
    sync::mpsc,
};

/// Bytes of the client's preface (section 3.4).
const PREFACE: usize = 24;
/// Bytes of a frame's head: length in three of them, type, flags, stream (section 4.1).
const HEAD: usize = 9;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
const MAX_CONCURRENT_STREAMS: u8 = 3;
/// How long a closed connection is still read, so that the client gets what was written before: unread data would
/// make the kernel throw it away.
const LINGER: Duration = Duration::from_millis(500);

/// A frame of ours.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// SETTINGS with another limit of streams.
    MaxStreams(u32),
    /// GOAWAY with this last stream.
    GoAway(u32),
}

impl Order {
    fn frame(self) -> Vec<u8> {
        match self {
            Self::MaxStreams(limit) => frame(SETTINGS, &max_streams(limit)),
            Self::GoAway(last) => {
                // Error code NO_ERROR; APNs says why in JSON.
                let payload = [&last.to_be_bytes()[..], &[0; 4], br#"{"reason":"Shutdown"}"#].concat();
                frame(GOAWAY, &payload)
            }
        }
    }
}

fn max_streams(limit: u32) -> [u8; 6] {
    let [a, b, c, d] = limit.to_be_bytes();
    [0, MAX_CONCURRENT_STREAMS, a, b, c, d]
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, 0, 0, 0, 0, 0];
    frame.extend_from_slice(payload);
    frame
}

/// The next whole frame.
fn next(buffer: &mut BytesMut) -> Option<BytesMut> {
    let length = usize::from(*buffer.first()?) << 16 | usize::from(*buffer.get(1)?) << 8 | usize::from(*buffer.get(2)?);
    (buffer.len() >= HEAD + length).then(|| buffer.split_to(HEAD + length))
}

fn is_settings(frame: &[u8], ack: bool) -> bool {
    frame.get(3) == Some(&SETTINGS) && frame.get(4).is_some_and(|flags| (flags & ACK == ACK) == ack)
}

/// SETTINGS frames that await their acknowledgement, in order; true for ours.
#[derive(Default)]
struct Awaited(Mutex<VecDeque<bool>>);

impl Awaited {
    fn sent(&self, ours: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(ours);
    }

    fn acknowledged_ours(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front() == Some(true)
    }
}

/// Carries frames until either side closes.
pub(super) async fn run(socket: TcpStream, inner: DuplexStream, orders: mpsc::UnboundedReceiver<Order>) {
    let awaited = Awaited::default();
    let (from_client, to_client) = socket.into_split();
    let (from_inner, to_inner) = tokio::io::split(inner);
    let mut inbound = std::pin::pin!(inbound(from_client, to_inner, &awaited));
    tokio::select! {
        // A broken connection is the client's affair.
        _ = inbound.as_mut() => {}
        _ = outbound(from_inner, to_client, orders, &awaited) => {
            let _ = tokio::time::timeout(LINGER, inbound).await;
        }
    }
}

async fn inbound(
    mut client: impl AsyncRead + Unpin,
    mut inner: impl AsyncWrite + Unpin,
    awaited: &Awaited,
) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    let (mut begun, mut closed) = (false, false);
    while client.read_buf(&mut buffer).await? > 0 {
        if closed {
            buffer.clear();
            continue;
        }
        if !begun && buffer.len() >= PREFACE {
            inner.write_all(&buffer[..PREFACE]).await?;
            buffer.advance(PREFACE);
            begun = true;
        }
        while let Some(frame) = if begun { next(&mut buffer) } else { None } {
            if is_settings(&frame, true) && awaited.acknowledged_ours() {
                continue;
            }
            // Closed on our side: the rest is only read away.
            closed = inner.write_all(&frame).await.is_err();
            if closed {
                break;
            }
        }
    }
    Ok(())
}

async fn outbound(
    mut inner: impl AsyncRead + Unpin,
    mut client: impl AsyncWrite + Unpin,
    mut orders: mpsc::UnboundedReceiver<Order>,
    awaited: &Awaited,
) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    let mut first = true;
    loop {
        tokio::select! {
            biased;
            read = inner.read_buf(&mut buffer) => {
                if read? == 0 {
                    break;
                }
                while let Some(next) = next(&mut buffer) {
                    if !is_settings(&next, false) {
                        client.write_all(&next).await?;
                        continue;
                    }
                    awaited.sent(false);
                    if std::mem::take(&mut first) {
                        let payload = [&next[HEAD..], &max_streams(1)].concat();
                        client.write_all(&frame(SETTINGS, &payload)).await?;
                    } else {
                        client.write_all(&next).await?;
                    }
                }
            }
            Some(order) = orders.recv() => {
                if matches!(order, Order::MaxStreams(_)) {
                    awaited.sent(true);
                }
                client.write_all(&order.frame()).await?;
            }
        }
    }
    client.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_cut_out_of_what_arrives() {
        let mut buffer = BytesMut::from(&frame(SETTINGS, &max_streams(1_000))[..]);
        assert_eq!(buffer[..], [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 3, 232]);
        buffer.extend_from_slice(&Order::GoAway(5).frame()[..20]);
        assert_eq!(next(&mut buffer).map(|frame| frame.len()), Some(15));
        assert_eq!(next(&mut buffer), None);
        buffer.extend_from_slice(&Order::GoAway(5).frame()[20..]);
        let goaway = next(&mut buffer).unwrap();
        assert_eq!(goaway[3..17], [7, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0]);
        assert!(buffer.is_empty() && next(&mut buffer).is_none());
        assert!(is_settings(&[0, 0, 0, 4, 1], true) && !is_settings(&[0, 0, 0, 4, 1], false));
        assert!(!is_settings(&[0, 0, 8, 6, 1], true), "an acknowledged PING");
    }
}
