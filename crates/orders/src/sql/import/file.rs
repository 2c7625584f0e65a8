//! Reads a catalogue file: validates it against a schema, then sorts it.

use super::{ImportError, MAX_STOCK, schema};
use crate::model::{Currency, Money};
use candor_schema::{Int, Schema};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A catalogue as it is written in the file.
#[derive(Debug, Deserialize)]
struct RawCatalogue {
    #[serde(default)]
    locations: Vec<CatalogueLocation>,
    #[serde(default)]
    products: Vec<RawProduct>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CatalogueLocation {
    pub(super) id: String,
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
struct RawProduct {
    id: String,
    name: String,
    description: Option<String>,
    #[serde(default)]
    variants: Vec<RawVariant>,
}

#[derive(Debug, Deserialize)]
struct RawVariant {
    sku: String,
    name: Option<String>,
    price: String,
    #[serde(default)]
    stock: Vec<RawStock>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawStock {
    location_id: String,
    on_hand: Int<0, MAX_STOCK>,
}

#[derive(Debug)]
pub(super) struct CatalogueProduct {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: Option<String>,
}

/// A variant with its stock by location. `field` is its path in the file.
#[derive(Debug)]
pub(super) struct CatalogueVariant {
    pub(super) field: String,
    pub(super) product_id: String,
    pub(super) name: String,
    pub(super) price: Money,
    pub(super) stock: BTreeMap<String, i64>,
}

/// A catalogue. The variants are sorted by SKU, the order in which they are locked.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    pub(super) locations: Vec<CatalogueLocation>,
    pub(super) products: Vec<CatalogueProduct>,
    pub(super) variants: BTreeMap<String, CatalogueVariant>,
}

/// The longest id, in bytes: two of them fit into a cursor.
const MAX_ID: usize = 255;

fn check_id_length(field: &str, id: &str) -> Result<(), ImportError> {
    match id.len() <= MAX_ID {
        true => Ok(()),
        false => Err(ImportError::Invalid {
            field: field.to_owned(),
            expected: format!("at most {MAX_ID} bytes"),
        }),
    }
}

/// Parses a catalogue with prices in this currency.
pub(super) fn read(text: &str, currency: Currency) -> Result<Catalogue, ImportError> {
    let json = |error: serde_json::Error| ImportError::Json(error.to_string());
    let value: Value = serde_json::from_str(text).map_err(json)?;
    let schema = Schema::new(schema::catalogue()).map_err(|_| ImportError::Schema)?;
    schema.check(&value).map_err(|violations| {
        let first = violations.shown().first();
        ImportError::Invalid {
            field: first
                .map(|first| first.field().into_owned())
                .unwrap_or_default(),
            expected: first
                .map(|first| first.expected.to_string())
                .unwrap_or_default(),
        }
    })?;
    // From the text, because only that detects a repeated member.
    let written: RawCatalogue = serde_json::from_str(text).map_err(json)?;
    sort(written, currency)
}

fn sort(written: RawCatalogue, currency: Currency) -> Result<Catalogue, ImportError> {
    let mut catalogue = Catalogue::default();
    let mut seen = BTreeSet::new();
    for (index, location) in written.locations.into_iter().enumerate() {
        let field = format!("locations.{index}.id");
        check_id_length(&field, &location.id)?;
        if !seen.insert(location.id.clone()) {
            return Err(ImportError::Twice(field));
        }
        catalogue.locations.push(location);
    }
    seen.clear();
    for (index, product) in written.products.into_iter().enumerate() {
        let field = format!("products.{index}");
        check_id_length(&format!("{field}.id"), &product.id)?;
        if !seen.insert(product.id.clone()) {
            return Err(ImportError::Twice(format!("{field}.id")));
        }
        for (index, variant) in product.variants.into_iter().enumerate() {
            let field = format!("{field}.variants.{index}");
            let sku = variant.sku.clone();
            let variant = CatalogueVariant {
                name: variant.name.unwrap_or_else(|| product.name.clone()),
                price: Money::parse(&variant.price, currency)
                    .map_err(|reason| ImportError::Price(format!("{field}.price"), reason))?,
                stock: stock(&field, variant.stock)?,
                product_id: product.id.clone(),
                field,
            };
            let field = format!("{}.sku", variant.field);
            check_id_length(&field, &sku)?;
            if catalogue.variants.insert(sku, variant).is_some() {
                return Err(ImportError::Twice(field));
            }
        }
        catalogue.products.push(CatalogueProduct {
            id: product.id,
            name: product.name,
            description: product.description,
        });
    }
    Ok(catalogue)
}

fn stock(field: &str, rows: Vec<RawStock>) -> Result<BTreeMap<String, i64>, ImportError> {
    let mut stock = BTreeMap::new();
    for (index, stock_row) in rows.into_iter().enumerate() {
        let before = stock.insert(stock_row.location_id, stock_row.on_hand.get());
        if before.is_some() {
            let field = format!("{field}.stock.{index}.locationId");
            return Err(ImportError::Twice(field));
        }
    }
    Ok(stock)
}
