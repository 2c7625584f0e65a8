//! Serializes an indexed value as `serde_json` serializes its tree.

use crate::index::JsonKind;
use crate::json_ref::JsonRef;
use serde::ser::{Serialize, Serializer};

impl Serialize for JsonRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.kind() {
            JsonKind::Null => serializer.serialize_unit(),
            JsonKind::Boolean => self.as_bool().serialize(serializer),
            JsonKind::Number => self.as_number().serialize(serializer),
            JsonKind::String => self.as_str().serialize(serializer),
            JsonKind::Array => serializer.collect_seq(self.items()),
            JsonKind::Object => serializer.collect_map(self.members()),
        }
    }
}
