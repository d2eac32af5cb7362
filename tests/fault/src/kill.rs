//! Where a process of the fleet dies or stands still: at a boundary between two effects of one invocation.
//!
//! The fleet sends the point along with an invocation (`Point`'s text form, in a header); `platform::drive` passes the
//! boundary here. It guarantees that the effect before the point was performed and that its outcome reached nobody.

use futures_util::future::BoxFuture;
use platform::Boundary;
use std::{
    io::Write,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::watch;

tokio::task_local! {
    static POINT: Arc<Mutex<Option<Point>>>;
}

/// What happens where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// Stand still instead of dying.
    pub(crate) hold: bool,
    /// The effect's name.
    pub(crate) effect: String,
    /// At which of this invocation's boundaries after such an effect, from 1.
    pub(crate) nth: u32,
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", if self.hold { "hold" } else { "kill" }, self.effect, self.nth)
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no point");
        let mut words = text.split(' ');
        let hold = match words.next() {
            Some("hold") => true,
            Some("kill") => false,
            _ => return Err(wrong()),
        };
        let effect = words.next().ok_or_else(wrong)?.to_owned();
        let nth = words.next().and_then(|nth| nth.parse().ok()).ok_or_else(wrong)?;
        Ok(Self { hold, effect, nth })
    }
}

/// Runs `work` as an invocation with this point.
pub(crate) fn with_point<F: Future>(point: Option<Point>, work: F) -> impl Future<Output = F::Output> {
    POINT.scope(Arc::new(Mutex::new(point)), work)
}

/// The boundary of a process.
#[derive(Debug)]
pub(crate) struct KillPoints {
    open: watch::Sender<u64>,
}

impl Default for KillPoints {
    fn default() -> Self {
        Self { open: watch::Sender::new(0) }
    }
}

impl KillPoints {
    /// Lets what is held go on.
    pub(crate) fn release(&self) {
        self.open.send_modify(|times| *times += 1);
    }
}

/// Whether the invocation is at its point.
fn arrived(effect: &str) -> Option<Point> {
    POINT
        .try_with(|point| {
            let mut slot = point.lock().unwrap_or_else(PoisonError::into_inner);
            let point = slot.as_mut().filter(|point| point.effect == effect)?;
            point.nth -= 1;
            if point.nth == 0 { slot.take() } else { None }
        })
        .ok()
        .flatten()
}

impl Boundary for KillPoints {
    fn after<'a>(&'a self, effect: &'static str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(point) = arrived(effect) else { return };
            if !point.hold {
                // No destructor runs, no other thread gets on: the process is gone.
                std::process::abort();
            }
            let mut open = self.open.subscribe();
            // The fleet reads it.
            let mut stdout = std::io::stdout();
            let _ = writeln!(stdout, "held {effect}").and_then(|()| stdout.flush());
            let _ = open.changed().await;
        })
    }
}
