import { expect, test } from 'vitest';
import { explainRawError } from './raw-error-sentence.ts';

test.each([
  ['ORA-00904: "REVENU": invalid identifier', 'column', 'REVENU'],
  ['ORA-00904: invalid identifier', 'column', ''],
  ['java.sql.SQLSyntaxErrorException: ORA-00942: table or view does not exist\n\tat oracle.jdbc', 'table', ''],
  ['ORA-12541: TNS:no listener', 'could not be reached', ''],
  ["ERROR 1054 (42S22): Unknown column 'revenu' in 'field list'", 'column', 'revenu'],
  ["ERROR 1146 (42S02): Table 'shop.order' doesn't exist", 'table', 'shop.order'],
  ['ERROR 1064 (42000): You have an error in your SQL syntax', 'not valid MySQL', ''],
  ["Msg 207, Level 16, State 1\nInvalid column name 'revenu'.", 'column', ''],
  ["Invalid object name 'dbo.order'.", 'table', 'dbo.order'],
  ["Login failed for user 'sa'.", 'sign-in', ''],
  ['HTTP 500 text/plain\nERROR: column "revenu" does not exist', 'column', 'revenu'],
  ['ENOTFOUND Error: getaddrinfo ENOTFOUND no.such.host', 'name', ''],
  ['CERT_HAS_EXPIRED Error: certificate has expired', 'expired', ''],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'not signed', ''],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'another name', ''],
  ['-32601 ProtocolError: Method not found', 'MCP server', ''],
])('E1: %j is told in one sentence', (raw, says, name) => {
  const told = explainRawError(raw);
  expect(told?.message).toContain(says);
  expect(told?.message).toContain(name);
  expect(told?.message).toMatch(/^[A-Z].*\.$/);
  expect(told?.suggestion).toMatch(/\w+ \w+.*\.$/);
});

test('what is not known is left to the kind', () => {
  expect(explainRawError('Something odd happened')).toBeUndefined();
});
