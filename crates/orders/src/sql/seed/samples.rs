//! The sample catalogue: the same rows on every machine and in every run.

use crate::model::{Currency, Money, OrderCustomer, PostalAddress};

/// The start of 2024, the first creation time of samples.
pub(super) const EPOCH: i64 = 1_704_067_200_000_000;

/// A minute, in microseconds.
pub(super) const MINUTE: i64 = 60_000_000;

/// The locations: id, name.
pub(super) const LOCATIONS: [(&str, &str); 3] = [
    ("loc_berlin", "Berlin"),
    ("loc_lisbon", "Lisbon"),
    ("loc_toronto", "Toronto"),
];

/// A product with its variants.
pub(super) struct SampleProduct {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// The price in hundredths of the currency.
    price: i64,
    /// The first part of the SKU.
    stem: &'static str,
    /// The last part of the SKU, and the name of the variant.
    variants: &'static [(&'static str, &'static str)],
}

pub(super) struct SampleVariant {
    pub(super) id: String,
    pub(super) product_id: String,
    pub(super) sku: String,
    pub(super) name: String,
    pub(super) price: Money,
    /// The stock at each location.
    pub(super) stock: [i64; 3],
    pub(super) created_at: i64,
}

/// The last parts of the SKUs of clothes.
const SIZES: &[(&str, &str)] = &[("S", "S"), ("M", "M"), ("L", "L"), ("XL", "XL")];
const SHOES: &[(&str, &str)] = &[("39", "39"), ("41", "41"), ("43", "43"), ("45", "45")];
const COLOURS: &[(&str, &str)] = &[("BLK", "Black"), ("SND", "Sand"), ("GRN", "Green")];
const GRINDS: &[(&str, &str)] = &[("BEAN", "Beans"), ("FILT", "Filter"), ("ESPR", "Espresso")];
const ONE: &[(&str, &str)] = &[("STD", "Standard")];

pub(super) const PRODUCTS: [SampleProduct; 12] = [
    sample(
        "Black T-shirt",
        "Cotton, straight cut.",
        1_999,
        "TEE-BLK",
        SIZES,
    ),
    sample(
        "White T-shirt",
        "Cotton, straight cut.",
        1_999,
        "TEE-WHT",
        SIZES,
    ),
    sample(
        "Hooded jumper",
        "Brushed inside, with a pocket.",
        5_490,
        "HOOD-GRY",
        SIZES,
    ),
    sample(
        "Rain jacket",
        "Taped seams; packs into its pocket.",
        12_900,
        "RAIN-YEL",
        SIZES,
    ),
    sample(
        "Wool socks",
        "Merino, calf length.",
        1_450,
        "SOCK-WOL",
        SIZES,
    ),
    sample(
        "Trail shoes",
        "Light, with a rock plate.",
        13_995,
        "SHOE-TRL",
        SHOES,
    ),
    sample("Canvas shoes", "Vulcanised sole.", 6_900, "SHOE-CNV", SHOES),
    sample(
        "Backpack",
        "Twenty litres, water resistant.",
        8_900,
        "PACK-20L",
        COLOURS,
    ),
    sample("Cap", "Six panels, one size.", 2_400, "CAP-6P", COLOURS),
    sample("Coffee", "Medium roast, 500 g.", 1_290, "COF-500", GRINDS),
    sample("Mug", "Stoneware, 350 ml.", 1_100, "MUG-350", COLOURS),
    sample(
        "Bottle",
        "Steel, 750 ml, keeps warm for a day.",
        2_950,
        "BOT-750",
        ONE,
    ),
];

/// The customers: given name, family name, street, town, postal code, country, phone.
const CUSTOMERS: [[&str; 7]; 10] = [
    [
        "Ada",
        "Keller",
        "Lindenweg 4",
        "Berlin",
        "10115",
        "DE",
        "+49 30 5550101",
    ],
    [
        "Bruno",
        "Costa",
        "Rua do Sol 18",
        "Lisboa",
        "1100-012",
        "PT",
        "+351 21 555 0102",
    ],
    [
        "Chloe",
        "Martin",
        "12 Rue des Lilas",
        "Lyon",
        "69003",
        "FR",
        "+33 4 55 50 01 03",
    ],
    [
        "Daniel",
        "Okafor",
        "7 Marina Road",
        "Lagos",
        "101241",
        "NG",
        "+234 1 555 0104",
    ],
    [
        "Emi",
        "Tanaka",
        "3-5-1 Kitazawa",
        "Tokyo",
        "155-0031",
        "JP",
        "+81 3-5555-0105",
    ],
    [
        "Farid",
        "Haddad",
        "21 Cedar Street",
        "Beirut",
        "2038",
        "LB",
        "+961 1 555 106",
    ],
    [
        "Grace",
        "Tremblay",
        "480 King Street West",
        "Toronto",
        "M5V 1L7",
        "CA",
        "+1 416-555-0107",
    ],
    [
        "Hugo",
        "Lindqvist",
        "Storgatan 9",
        "Uppsala",
        "753 31",
        "SE",
        "+46 18 555 01 08",
    ],
    [
        "Ines",
        "Moreno",
        "Calle Mayor 33",
        "Sevilla",
        "41001",
        "ES",
        "+34 955 550 109",
    ],
    [
        "Jonas",
        "Weber",
        "Hafenstrasse 2",
        "Hamburg",
        "20459",
        "DE",
        "+49 40 5550110",
    ],
];

const fn sample(
    name: &'static str,
    description: &'static str,
    price: i64,
    stem: &'static str,
    variants: &'static [(&'static str, &'static str)],
) -> SampleProduct {
    SampleProduct {
        name,
        description,
        price,
        stem,
        variants,
    }
}

/// Returns the id of the product at this index; `prod_0001` is the first.
pub(super) fn product_id(index: usize) -> String {
    format!("prod_{:04}", index + 1)
}

/// Converts hundredths to the smallest unit of a currency, at least one.
fn scale(hundredths: i64, currency: Currency) -> Money {
    let places = u32::try_from(currency.places()).unwrap_or(2);
    let minor = i128::from(hundredths) * 10_i128.pow(places) / 100;
    Money::of_minor(minor.max(1)).unwrap_or_default()
}

/// Returns all variants, in the order of their products.
pub(super) fn variants(currency: Currency) -> Vec<SampleVariant> {
    let mut variants = Vec::new();
    for (index, product) in PRODUCTS.iter().enumerate() {
        for (end, word) in product.variants {
            let number = variants.len() + 1;
            let step = i64::try_from(number).unwrap_or_default();
            variants.push(SampleVariant {
                id: format!("var_{number:04}"),
                product_id: product_id(index),
                sku: format!("{}-{end}", product.stem),
                name: format!("{}, {word}", product.name),
                price: scale(product.price, currency),
                stock: [100 + step * 7 % 60, 50 + step * 11 % 40, step * 5 % 30],
                created_at: EPOCH + step * MINUTE,
            });
        }
    }
    variants
}

pub(super) struct SampleCustomer {
    pub(super) customer: OrderCustomer,
    pub(super) email: String,
    pub(super) address: PostalAddress,
}

pub(super) fn customers() -> Vec<SampleCustomer> {
    let customer =
        |(index, [first, last, street, town, code, country, phone]): (usize, [&str; 7])| {
            let email = format!(
                "{}.{}@example.com",
                first.to_lowercase(),
                last.to_lowercase()
            );
            SampleCustomer {
                customer: OrderCustomer {
                    id: Some(format!("cust_{:04}", index + 1)),
                    email: Some(email.clone()),
                    first_name: Some(first.to_owned()),
                    last_name: Some(last.to_owned()),
                    phone: Some(phone.to_owned()),
                },
                email,
                address: PostalAddress {
                    address1: street.to_owned(),
                    address2: None,
                    city: town.to_owned(),
                    state_or_province: None,
                    zip_code_or_postal_code: Some(code.to_owned()),
                    country: country.to_owned(),
                    first_name: Some(first.to_owned()),
                    last_name: Some(last.to_owned()),
                    company: None,
                    phone: None,
                },
            }
        };
    CUSTOMERS.into_iter().enumerate().map(customer).collect()
}
