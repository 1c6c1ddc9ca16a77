/** What the schema of a ModelRoute or Budget can't see by itself. Refusals are `RejectedError`s that name the place. */
import { orgApp, RejectedError, type Budget, type ModelRoute, type RegistryObject } from '@pawl/contracts';
import type { Targets } from '@pawl/service/targets';
import type { ExchangeRates } from '../price/exchange-rates.ts';
import { isTimeZone } from '../budget/window.ts';

/** Checks objects before they are stored. */
export function createObjectValidation(targets: Targets, rates: ExchangeRates): (object: RegistryObject) => void {
  return (object) => {
    if (object.kind === 'ModelRoute') validateRoute(object, targets, rates);
    if (object.kind === 'Budget') validateBudget(object, rates);
  };
}

function validateRoute({ spec }: ModelRoute, targets: Targets, rates: ExchangeRates): void {
  for (const [position, { price, baseUrl }] of spec.candidates.entries()) {
    const place = `spec.candidates.${position}`;
    if (price) validateCurrency(`${place}.price.currency`, price.currency, rates);
    if (baseUrl !== undefined) validateHost(`${place}.baseUrl`, new URL(baseUrl), targets);
  }
}

function validateCurrency(place: string, currency: string, rates: ExchangeRates): void {
  if (currency === 'USD' || rates.at(currency, Date.now())) return;
  const message = `${place}: there is no exchange rate for ${currency}; PAWL_EXCHANGE_RATES can tell it`;
  throw new RejectedError('not_supported', message);
}

function validateHost(place: string, url: URL, targets: Targets): void {
  if (url.username !== '' || url.password !== '') {
    throw new RejectedError('invalid_request', `${place}: put the key into apiKey, not into the URL`);
  }
  const problem = targets.problemOfHost(url.hostname);
  if (problem !== undefined) throw new RejectedError('target_not_allowed', `${place}: ${problem}`);
}

function validateBudget({ metadata, spec }: Budget, rates: ExchangeRates): void {
  if (spec.scope.org !== undefined && metadata.app !== orgApp) {
    throw new RejectedError(
      'invalid_request',
      `metadata.app: the budget of an org is declared under the app ${orgApp}`,
    );
  }
  if (spec.scope.org === undefined && spec.scope.app !== metadata.app) {
    throw new RejectedError('invalid_request', `spec.scope.app: a budget belongs to its own app, ${metadata.app}`);
  }
  if ('currency' in spec.limit) validateCurrency('spec.limit.currency', spec.limit.currency, rates);
  if (spec.timeZone !== undefined && !isTimeZone(spec.timeZone)) {
    throw new RejectedError(
      'invalid_request',
      `spec.timeZone: ${spec.timeZone} is not a time zone of the IANA database`,
    );
  }
}
