/** Whether a token is what it says, and who bears it. Nothing of a token is ever told or logged. */
import { decodeJwt, errors, jwtVerify } from 'jose';
import { RejectedError, UnavailableError } from '@pawl/contracts';
import { createIssuer, type Issuer, type IssuerOptions } from './issuer.ts';
import { bearerOf, type ClaimMapping, type TokenBearer } from './token-claims.ts';

/** Signatures that only the issuer can make: none with a secret that is shared, and never `none`. */
export const signatureAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

export type TokenVerifierOptions = IssuerOptions & {
  /** Whom tokens have to be made for: one of these. */
  audience: readonly string[];
  algorithms: readonly (typeof signatureAlgorithms)[number][];
  /** By how much the clocks may differ. */
  leewayS: number;
  claims: ClaimMapping;
};

/** Who bears a token, and until when. */
export type VerifiedBearer = TokenBearer & {
  /** Unix milliseconds from which on the token counts for nothing, the difference of clocks included. */
  expiresAtMs: number;
};

export type TokenVerifier = {
  issuer: Issuer;
  /** Throws `RejectedError` unauthorized or forbidden with a sentence, `UnavailableError` when the issuer has to be asked and can't be. */
  verify(token: string): Promise<VerifiedBearer>;
};

export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const issuer = createIssuer(options);
  const { now = Date.now } = options;
  return {
    issuer,
    async verify(token) {
      try {
        // Asked first, so that tokens of others never lead to requests.
        if (decodeJwt(token).iss !== options.issuer) throw new RejectedError('unauthorized', sentenceOfClaim.iss);
        const { payload } = await jwtVerify(token, issuer.findKey, {
          issuer: options.issuer,
          audience: [...options.audience],
          algorithms: [...options.algorithms],
          clockTolerance: options.leewayS,
          requiredClaims: ['exp'],
          currentDate: new Date(now()),
        });
        const expiresAtMs = ((payload.exp ?? 0) + options.leewayS) * 1_000;
        return { ...bearerOf(payload, options.claims), expiresAtMs };
      } catch (error) {
        throw refusalOf(error);
      }
    },
  };
}

/** Whether a bearer's credential has the form of a token. */
export function isToken(credential: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(credential);
}

function refusalOf(error: unknown): unknown {
  if (error instanceof RejectedError || error instanceof UnavailableError) return error;
  if (!(error instanceof errors.JOSEError)) return error;
  return new RejectedError('unauthorized', sentenceOf(error));
}

function sentenceOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    return sentenceOfClaim[error.claim] ?? `the token's claim ${error.claim} is missing or wrong`;
  }
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return 'the token is signed with a key that its issuer does not publish';
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'the token is signed in a way that is not accepted';
  if (error instanceof errors.JWSSignatureVerificationFailed) return "the token's signature is wrong";
  return 'the token is not a signed token';
}

const sentenceOfClaim: Readonly<Record<string, string>> & { iss: string } = {
  iss: 'the token is of another issuer',
  aud: 'the token was made for another audience',
  nbf: 'the token is not valid yet',
};
