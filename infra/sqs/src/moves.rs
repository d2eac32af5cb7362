//! Moving dead letters back: to where they came from, or to a queue that is named.
//!
//! Called by the action StartMessageMoveTask. A move is done at once, for the messages that are visible then; so no
//! task is ever seen running. A moved message counts as a new one, with a new id and sent time (developer guide,
//! "dead-letter queue redrive"), and its receives start again.

use crate::{SqsError, limits, names, queue::Copy, state::State};
use platform::Random;
use std::sync::Arc;

/// A move that is over.
#[derive(Clone, Debug)]
pub(crate) struct MoveTask {
    pub(crate) handle: String,
    pub(crate) source_arn: String,
    pub(crate) destination_arn: Option<String>,
    pub(crate) started_ms: u64,
    pub(crate) to_move: usize,
    pub(crate) moved: usize,
    /// Why it ended before all were moved.
    pub(crate) failure: Option<&'static str>,
}

/// What a move is asked for.
#[derive(Debug)]
pub(crate) struct MoveRequest {
    pub(crate) source_arn: String,
    pub(crate) destination_arn: Option<String>,
    pub(crate) handle: String,
}

impl State {
    /// Moves every visible message of a dead-letter queue and remembers how it went. `message_id` makes a fresh id.
    ///
    /// # Errors
    /// `ResourceNotFound` for a queue that does not exist, `InvalidParameterValue` for a source that is nobody's
    /// dead-letter queue, or that is its own destination.
    pub(crate) fn move_dead_letters(
        &mut self,
        request: MoveRequest,
        random: &Random,
        message_id: impl Fn(&Random) -> Result<String, SqsError>,
        now: u64,
    ) -> Result<(), SqsError> {
        let source = self.named(&request.source_arn, "SourceArn")?;
        let fixed = request.destination_arn.as_ref().map(|arn| self.named(arn, "DestinationArn")).transpose()?;
        if fixed.as_ref() == Some(&source) {
            let reason = "Source queue arn and destination queue arn are the same".to_owned();
            return Err(SqsError::InvalidParameterValue(reason));
        }
        if self.sources_of(&source).is_empty() {
            let reason = "Source queue must be configured as a Dead Letter Queue.".to_owned();
            return Err(SqsError::InvalidParameterValue(reason));
        }
        let to_move = self.queue(&source, now)?.counts().visible;
        let (mut moved, mut failure) = (0, None);
        while moved < to_move && failure.is_none() {
            let id = message_id(random)?;
            failure = self.move_one(&source, fixed.as_deref(), id, now)?;
            moved += usize::from(failure.is_none());
        }
        let MoveRequest { source_arn, destination_arn, handle } = request;
        self.remember(MoveTask { handle, source_arn, destination_arn, started_ms: now, to_move, moved, failure });
        Ok(())
    }

    /// Moves the next message, or says why it stays. A message that was sent to the dead-letter queue directly has no
    /// queue to go back to.
    fn move_one(
        &mut self,
        source: &str,
        fixed: Option<&str>,
        id: String,
        now: u64,
    ) -> Result<Option<&'static str>, SqsError> {
        let origin = |copy: &Copy| copy.dead_letter_source.as_deref().and_then(names::name_in_arn).map(str::to_owned);
        let mut destination = fixed.map(str::to_owned);
        let queue = self.queue(source, now)?;
        let found = queue.peek_visible().and_then(|copy| destination.take().or_else(|| origin(copy)));
        let Some(destination) = found else { return Ok(Some("CouldNotDetermineMessageSource")) };
        if !self.has(&destination) {
            return Ok(Some("AWS.SimpleQueueService.NonExistentQueue"));
        }
        if let Some(copy) = self.queue(source, now)?.take_visible() {
            let copy = Copy::new(Arc::new(copy.payload.renamed(id)), now);
            self.queue(&destination, now)?.adopt(copy);
        }
        Ok(None)
    }

    fn named(&self, arn: &str, parameter: &'static str) -> Result<String, SqsError> {
        let name = names::name_in_arn(arn).filter(|name| self.has(name));
        name.map(str::to_owned).ok_or(SqsError::ResourceNotFound(parameter))
    }

    fn remember(&mut self, task: MoveTask) {
        let most = usize::try_from(*limits::MOVE_RESULTS.end()).unwrap_or(1);
        let same = |other: &MoveTask| other.source_arn == task.source_arn;
        if self.moves.iter().filter(|other| same(other)).count() >= most
            && let Some(oldest) = self.moves.iter().position(same)
        {
            self.moves.remove(oldest);
        }
        self.moves.push(task);
    }
}
