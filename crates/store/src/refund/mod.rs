//! Refunds: one item each, written by create, by the decision, and by whatever happens to its payout.
//!
//! Create and decide are blind: nothing is read before, so that each is one request. What becomes of a payout is a
//! compare-and-set of the whole item, which `protocol` made from the one it read. A refund is never deleted and has no
//! expiry, since its key is valid for ever.

mod decide;
pub(crate) mod item;
mod list;

use crate::{
    Store, StoreError,
    attr::{Item, s},
    names::{PK, REFUND_SK, SK, refund_pk},
    write::Wrote,
};
pub use list::{RefundCursor, RefundPage};
use protocol::{
    expect::Expect,
    refund::{Refund, create::Prior, id::RefundId},
};

/// What came of creating a refund.
#[derive(Debug)]
pub enum RefundCreate {
    /// The key is claimed.
    Created {
        /// Write units it took, the index's included, where the table said so.
        units: Option<f64>,
    },
    /// The key is taken: what the loser may know of the winner.
    Taken(Prior),
    /// Nobody knows whether it happened.
    Unknown(StoreError),
}

/// What came of a decision, or of a change of the payout.
#[derive(Debug)]
pub enum RefundWrite {
    /// It happened.
    Written {
        /// Write units it took, the index's included, where the table said so.
        units: Option<f64>,
    },
    /// It did not: this is the stored refund, or there is none.
    Conflict(Option<Box<Refund>>),
    /// Nobody knows whether it happened.
    Unknown(StoreError),
}

impl RefundWrite {
    fn of(wrote: Wrote) -> Self {
        match wrote {
            Wrote::Written { units } => Self::Written { units },
            Wrote::Lost(old) => match old.as_ref().map(item::decode).transpose() {
                Ok(stored) => Self::Conflict(stored.map(Box::new)),
                Err(error) => Self::Unknown(error),
            },
            Wrote::Unknown(error) => Self::Unknown(error),
        }
    }
}

/// The key of a refund's item.
fn key(id: RefundId) -> Item {
    Item::from([(PK.to_owned(), s(refund_pk(id.key))), (SK.to_owned(), s(REFUND_SK))])
}

impl Store {
    /// Claims the refund's key for ever and stores the refund, in one write: if nobody used the key before.
    pub async fn create_refund(&self, refund: &Refund) -> RefundCreate {
        match self.put(item::encode(refund), Expect::Absent).await {
            Wrote::Written { units } => RefundCreate::Created { units },
            Wrote::Lost(Some(old)) => match (item::id(&old), item::fingerprint(&old)) {
                (Ok(id), Ok(fingerprint)) => RefundCreate::Taken(Prior { id, fingerprint }),
                (Err(error), _) | (_, Err(error)) => RefundCreate::Unknown(error),
            },
            Wrote::Lost(None) => RefundCreate::Unknown(StoreError::corrupt("the winner of a key came back empty")),
            Wrote::Unknown(error) => RefundCreate::Unknown(error),
        }
    }

    /// Writes what `protocol` made of a refund that was read, if `expect` holds: a stamp, a payout's result, a
    /// provider's event, a retry, a resolve.
    pub async fn write_refund(&self, refund: &Refund, expect: Expect) -> RefundWrite {
        let item = item::encode(refund);
        let absent = item::absent(&item);
        RefundWrite::of(self.update(item, &absent, expect).await)
    }

    /// Reads a refund, consistently; `None` also where its key belongs to a refund with another id.
    ///
    /// # Errors
    /// When the table does not answer or the item cannot be read.
    pub async fn refund(&self, id: RefundId) -> Result<Option<Refund>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(key(id)))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| StoreError::sdk("GetItem", &error))?;
        let refund = answer.item.as_ref().map(item::decode).transpose()?;
        Ok(refund.filter(|refund| refund.id == id))
    }
}
