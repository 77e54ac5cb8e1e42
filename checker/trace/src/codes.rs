//! Codes of what is found in a program: each has a name too, and neither ever changes its meaning.

/// Makes a list of codes an enum: `VARIANT: CODE, NAME;` for each.
macro_rules! codes {
    ($(#[$about:meta])* $($variant:ident: $code:literal, $name:literal;)+) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = concat!("`", $code, "`")] $variant,)+
        }

        impl Code {
            /// All codes, in order.
            pub const ALL: [Self; [$($code),+].len()] = [$(Self::$variant),+];

            /// The code itself, such as `SWIM-C01`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)+
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for Code {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for Code {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

pub(crate) use codes;
