//! Verifies SSHSIG signatures: Ed25519 by `ssh-key`, RSA and ECDSA P-256 by `ring`.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA512,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use sha2::{Digest, Sha256};
use ssh_key::public::KeyData;
use ssh_key::{Algorithm, EcdsaCurve, HashAlg, PublicKey, SshSig};

/// The length of a number of the curve P-256, in bytes.
const P256_BYTES: usize = 32;

/// The flags and the counter at the end of a security key's signature, in bytes.
const SECURITY_KEY_TRAILER: usize = 5;

/// A signature that does not verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SignatureMismatch;

/// Verifies a signature of a message for a namespace with the public key that the signature contains.
pub(super) fn verify(
    namespace: &str,
    message: &[u8],
    signature: &SshSig,
) -> Result<(), SignatureMismatch> {
    if signature.namespace() != namespace || !signature.reserved().is_empty() {
        return Err(SignatureMismatch);
    }
    let signed = SshSig::signed_data(namespace, signature.hash_alg(), message)
        .map_err(|_| SignatureMismatch)?;
    let bytes = signature.signature_bytes();
    match (signature.public_key(), signature.algorithm()) {
        (KeyData::Rsa(key), Algorithm::Rsa { hash: Some(hash) }) => {
            let (Some(n), Some(e)) = (key.n.as_positive_bytes(), key.e.as_positive_bytes()) else {
                return Err(SignatureMismatch);
            };
            let parameters = match hash {
                HashAlg::Sha256 => &RSA_PKCS1_2048_8192_SHA256,
                HashAlg::Sha512 => &RSA_PKCS1_2048_8192_SHA512,
                _ => return Err(SignatureMismatch),
            };
            RsaPublicKeyComponents { n, e }
                .verify(parameters, &signed, bytes)
                .map_err(|_| SignatureMismatch)
        }
        (
            KeyData::Ecdsa(key),
            Algorithm::Ecdsa {
                curve: EcdsaCurve::NistP256,
            },
        ) => verify_p256(key.as_sec1_bytes(), &signed, bytes),
        (KeyData::SkEcdsaSha2NistP256(key), Algorithm::SkEcdsaSha2NistP256) => {
            let split = bytes
                .len()
                .checked_sub(SECURITY_KEY_TRAILER)
                .ok_or(SignatureMismatch)?;
            let (bytes, trailer) = bytes.split_at(split);
            let mut data = Sha256::digest(key.application()).to_vec();
            data.extend_from_slice(trailer);
            data.extend_from_slice(&Sha256::digest(&signed));
            verify_p256(key.ec_point().as_bytes(), &data, bytes)
        }
        (KeyData::Ed25519(_) | KeyData::SkEd25519(_), _) => {
            PublicKey::from(signature.public_key().clone())
                .verify(namespace, message, signature)
                .map_err(|_| SignatureMismatch)
        }
        _ => Err(SignatureMismatch),
    }
}

/// Verifies an ECDSA signature, which SSH encodes as two numbers.
fn verify_p256(point: &[u8], message: &[u8], signature: &[u8]) -> Result<(), SignatureMismatch> {
    let fixed = fixed_p256(signature).ok_or(SignatureMismatch)?;
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
        .verify(message, &fixed)
        .map_err(|_| SignatureMismatch)
}

/// Converts the two numbers of an ECDSA signature to a fixed length. Returns `None` if they are
/// malformed, negative or too long.
fn fixed_p256(signature: &[u8]) -> Option<[u8; 2 * P256_BYTES]> {
    let mut fixed = [0; 2 * P256_BYTES];
    let mut rest = signature;
    for half in fixed.chunks_exact_mut(P256_BYTES) {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (number, after) = after.split_at_checked(length)?;
        let digits = match number {
            [0, digits @ ..] if digits.first().is_some_and(|first| first & 0x80 != 0) => digits,
            [first, ..] if first & 0x80 == 0 && *first != 0 => number,
            _ => return None,
        };
        let start = P256_BYTES.checked_sub(digits.len())?;
        half.get_mut(start..)?.copy_from_slice(digits);
        rest = after;
    }
    rest.is_empty().then_some(fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p256_signature_is_two_positive_numbers() {
        let number = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat();
        let pair = |one: &[u8], other: &[u8]| [number(one), number(other)].concat();
        let fixed = fixed_p256(&pair(&[1, 2], &[0, 0xff])).unwrap();
        assert_eq!((&fixed[30..32], fixed[63]), (&[1, 2][..], 0xff));
        let longest = [&[0][..], &[0xff; 32]].concat();
        assert!(fixed_p256(&pair(&longest, &[1])).is_some());
        for (one, other) in [
            (&[][..], &[1][..]),
            (&[0x80], &[1]),
            (&[0, 1], &[1]),
            (&[1; 33], &[1]),
            (&[0], &[1]),
        ] {
            assert_eq!(fixed_p256(&pair(one, other)), None, "{one:?}");
        }
        let mut longer = pair(&[1], &[1]);
        longer.push(0);
        assert_eq!(fixed_p256(&longer), None);
        assert_eq!(fixed_p256(&longer[..8]), None);
        assert_eq!(fixed_p256(&[0xff; 4]), None);
    }
}
