//! The macro that makes an event: one definition is the struct, the log line and the row of the documentation.

/// Defines an event. Each field has a name, a type, when it is there, and what it means; `level` says how loud a line is.
macro_rules! event {
    (
        $(#[$outer:meta])*
        $name:ident $(<$life:lifetime>)? = $word:literal, $means:literal;
        $( $field:ident: $type:ty, $kind:literal, $there:literal, $says:literal; )+
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name $(<$life>)? {
            $( #[doc = $says] pub $field: $type, )+
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// What the documentation says of it.
            pub const TABLE: EventTable = EventTable {
                word: $word,
                means: $means,
                fields: &[ $( FieldRow {
                    name: stringify!($field), kind: $kind, there: $there, means: $says,
                }, )+ ],
            };

            fn log(&self) {
                match self.level() {
                    Level::ERROR => tracing::error!(target: TARGET, event = $word, $( $field = self.$field ),+),
                    Level::WARN => tracing::warn!(target: TARGET, event = $word, $( $field = self.$field ),+),
                    _ => tracing::info!(target: TARGET, event = $word, $( $field = self.$field ),+),
                }
            }
        }
    };
}
