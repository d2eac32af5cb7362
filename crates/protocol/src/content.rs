//! What a message says and to whom: the typed form of a send.
//!
//! Made by validation, stored with the message, carried in queue messages. The serde names are the stored form; a
//! name that changes here changes what older items and copies mean. Nothing here checks limits: validation does.

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core::fmt;
use serde::{Deserialize, Serialize};

/// Where a device lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Through APNs.
    Ios,
    /// Through FCM.
    Android,
    /// A browser, through FCM.
    Web,
}

impl Platform {
    /// The word in requests and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ios => "ios",
            Self::Android => "android",
            Self::Web => "web",
        }
    }

    /// The platform of a word, exactly as [`Platform::as_str`] writes it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Ios, Self::Android, Self::Web].into_iter().find(|p| p.as_str() == word)
    }
}

/// A device token. It addresses a person's phone, so `Debug` shows only its mask.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub String);

impl Token {
    /// "…" and the last 6 characters; nothing of a token shorter than 12.
    #[must_use]
    pub fn masked(&self) -> String {
        let mut mask = String::from("…");
        let count = self.0.chars().count();
        if count >= 12 {
            mask.extend(self.0.chars().skip(count.saturating_sub(6)));
        }
        mask
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

/// One addressee.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Device {
    /// Its platform.
    pub platform: Platform,
    /// Its token.
    pub token: Token,
}

/// What a person sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Notification {
    /// Not empty.
    pub title: String,
    /// Not empty.
    pub body: String,
    /// An https URL of at most 2048 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// How urgent the provider is told it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Wake the device.
    #[default]
    High,
    /// When convenient.
    Normal,
}

impl Priority {
    /// The word in requests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
        }
    }
}

/// What happens when an answer is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Policy {
    /// Ask again, with the same collapse id.
    #[default]
    #[serde(rename = "L")]
    AtLeastOnce,
    /// Never ask again; the device ends `unknown`.
    #[serde(rename = "O")]
    AtMostOnce,
}

impl Policy {
    /// The word in requests and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtLeastOnce => "at_least_once",
            Self::AtMostOnce => "at_most_once",
        }
    }
}

/// The payload of a message, the same for all its devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Content {
    /// Absent in a silent push.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification: Option<Notification>,
    /// For the app. Empty and absent are the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, String>,
    /// The caller's collapse id; absent means the message id is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapse_key: Option<String>,
    /// The bundle id of the app that iOS devices get it in; absent means the project's first, even if that one was
    /// named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// As asked; a silent push goes out with normal priority whatever was asked.
    #[serde(default)]
    pub priority: Priority,
}

/// A validated send, without its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SendRequest {
    /// 1 to 500 devices, no two alike, in the caller's order.
    pub to: Vec<Device>,
    /// What is sent.
    pub content: Content,
    /// 0 to 2,419,200 seconds.
    pub ttl_seconds: u32,
    /// What happens when an answer is lost.
    pub policy: Policy,
}
