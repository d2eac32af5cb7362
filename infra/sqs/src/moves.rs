//! Moving dead letters back: to where they came from, or to a queue that is named.
//!
//! Called by the action StartMessageMoveTask. A move without a rate is done at once, for the messages that are visible
//! then, and is never seen running. One with a rate goes on as time passes: every request first does what is due by
//! then, and a long poll wakes when the next message is. A moved message counts as a new one, with a new id and sent
//! time (developer guide, "dead-letter queue redrive"), and its receives start again. Moves are not kept on disk: one
//! that runs ends with the process, and what it had not moved stays.

use crate::{
    SqsError,
    api::uuid,
    limits, names,
    queue::{Copy, Queue},
    state::State,
};
use platform::Random;
use std::sync::Arc;

/// A move.
#[derive(Clone, Debug)]
pub(crate) struct MoveTask {
    pub(crate) handle: String,
    pub(crate) source_arn: String,
    pub(crate) destination_arn: Option<String>,
    /// Most messages in a second; `None`: all at once.
    pub(crate) per_second: Option<u32>,
    pub(crate) started_ms: u64,
    pub(crate) to_move: usize,
    pub(crate) moved: usize,
    pub(crate) status: MoveStatus,
}

/// How a move stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveStatus {
    Running,
    Completed,
    Cancelled,
    /// It ended before all were moved, for this reason.
    Failed(&'static str),
}

/// What a move is asked for.
#[derive(Debug)]
pub(crate) struct MoveRequest {
    pub(crate) source_arn: String,
    pub(crate) destination_arn: Option<String>,
    pub(crate) per_second: Option<u32>,
    pub(crate) handle: String,
}

impl MoveTask {
    /// How many messages may have been moved by `now`: the rate holds from the start, so never more in any second.
    fn due(&self, now: u64) -> usize {
        let Some(rate) = self.per_second else { return self.to_move };
        let due = now.saturating_sub(self.started_ms).saturating_mul(u64::from(rate)) / 1_000;
        usize::try_from(due).unwrap_or(usize::MAX).min(self.to_move)
    }

    /// When the next message is due.
    fn next_ms(&self) -> Option<u64> {
        let rate = u64::from(self.per_second?).max(1);
        let next = u64::try_from(self.moved).ok()?.saturating_add(1);
        Some(self.started_ms.saturating_add(next.saturating_mul(1_000).div_ceil(rate)))
    }
}

impl State {
    /// Starts to move the visible messages of a dead-letter queue.
    ///
    /// # Errors
    /// `ResourceNotFound` for a queue that does not exist, `InvalidParameterValue` for a source that is nobody's
    /// dead-letter queue, that is its own destination or from which another move runs.
    pub(crate) fn move_dead_letters(
        &mut self,
        request: MoveRequest,
        random: &Random,
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
        let running = |task: &MoveTask| task.status == MoveStatus::Running && task.source_arn == request.source_arn;
        if self.moves.iter().any(running) {
            let reason = "There is already a task running. Only one active task is allowed for a source queue arn at \
                          a given time.";
            return Err(SqsError::InvalidParameterValue(reason.to_owned()));
        }
        let to_move = self.queue(&source, now)?.counts().visible;
        let MoveRequest { source_arn, destination_arn, per_second, handle } = request;
        let status = MoveStatus::Running;
        self.remember(MoveTask {
            handle,
            source_arn,
            destination_arn,
            per_second,
            started_ms: now,
            to_move,
            moved: 0,
            status,
        });
        self.go_on_moving(random, now)
    }

    /// Moves what is due by `now`.
    ///
    /// # Errors
    /// `Internal` without random bytes; what is left is moved later then.
    pub(crate) fn go_on_moving(&mut self, random: &Random, now: u64) -> Result<(), SqsError> {
        for index in 0..self.moves.len() {
            while let Some(task) = self.moves.get(index).filter(|task| task.status == MoveStatus::Running) {
                let (due, over) = (task.due(now) > task.moved, task.moved >= task.to_move);
                let source = names::name_in_arn(&task.source_arn).unwrap_or_default().to_owned();
                let fixed = task.destination_arn.as_deref().and_then(names::name_in_arn).map(str::to_owned);
                if !over && !due {
                    break;
                }
                let status = if over {
                    Some(MoveStatus::Completed)
                } else {
                    self.move_one(&source, fixed.as_deref(), uuid(random.bytes()?), now)
                };
                let Some(task) = self.moves.get_mut(index) else { break };
                match status {
                    Some(status) => task.status = status,
                    None => task.moved = task.moved.saturating_add(1),
                }
            }
        }
        Ok(())
    }

    /// When the next message is moved by a running move.
    pub(crate) fn next_move_ms(&self) -> Option<u64> {
        let running = self.moves.iter().filter(|task| task.status == MoveStatus::Running);
        running.filter_map(MoveTask::next_ms).min()
    }

    /// Ends a running move; how many it has moved.
    ///
    /// # Errors
    /// `ResourceNotFound` for a handle of nothing, `InvalidParameterValue` for a move that is over.
    pub(crate) fn cancel_move(&mut self, handle: &str) -> Result<usize, SqsError> {
        let task = self.moves.iter_mut().find(|task| task.handle == handle);
        let task = task.ok_or(SqsError::ResourceNotFound("TaskHandle"))?;
        if task.status != MoveStatus::Running {
            return Err(SqsError::InvalidParameterValue("Only active tasks can be cancelled.".to_owned()));
        }
        task.status = MoveStatus::Cancelled;
        Ok(task.moved)
    }

    /// Moves the next message, or says how the move ends without it. A message that was sent to the dead-letter queue
    /// directly has no queue to go back to.
    fn move_one(&mut self, source: &str, fixed: Option<&str>, id: String, now: u64) -> Option<MoveStatus> {
        const GONE: MoveStatus = MoveStatus::Failed("AWS.SimpleQueueService.NonExistentQueue");
        let origin = |copy: &Copy| copy.dead_letter_source.as_deref().and_then(names::name_in_arn).map(str::to_owned);
        let Ok(queue) = self.queue(source, now) else { return Some(GONE) };
        // Somebody else received the rest.
        let Some(copy) = queue.peek_visible() else { return Some(MoveStatus::Completed) };
        let destination = fixed.map(str::to_owned).or_else(|| origin(copy));
        let Some(destination) = destination else {
            return Some(MoveStatus::Failed("CouldNotDetermineMessageSource"));
        };
        if !self.has(&destination) {
            return Some(GONE);
        }
        if let Some(copy) = self.queue(source, now).ok().and_then(Queue::take_visible) {
            let copy = Copy::new(Arc::new(copy.payload.renamed(id)), now);
            if let Ok(queue) = self.queue(&destination, now) {
                queue.adopt(copy);
            }
        }
        None
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
