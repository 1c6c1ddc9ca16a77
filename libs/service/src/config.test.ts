import { expect, test } from 'vitest';
import { z } from 'zod';
import { baseConfigShape, ConfigError, integerVariable, readConfig } from './config.ts';

const schema = z.object({ ...baseConfigShape, PAWL_PORT: integerVariable({ min: 0, max: 65_535 }).default(7_301) });
const valid = { PAWL_NATS_URL: 'nats://x', PAWL_DATABASE_URL: 'postgres://x' };

test('defaults, lists and empty variables', () => {
  const config = readConfig(schema, {
    ...valid,
    PAWL_ADMIN_KEY: '',
    PAWL_ALLOW_PRIVATE_HOSTS: ' LocalHost, ,10.0.0.1',
    NATS_PORT: 'tcp://x',
  });
  expect(config).toMatchObject({ PAWL_PORT: 7_301, PAWL_LOG_LEVEL: 'info', PAWL_ADMIN_KEY: undefined });
  expect(config.PAWL_ALLOW_PRIVATE_HOSTS).toEqual(['localhost', '10.0.0.1']);
});

test('all mistakes are told together, each by its name', () => {
  const read = () => readConfig(schema, { PAWL_PORT: '99999', PAWL_LOG_LEVEL: 'loud', PAWL_PARTITIONS: '1.5' });
  expect(read).toThrow(ConfigError);
  for (const name of [
    'PAWL_NATS_URL is not set',
    'PAWL_DATABASE_URL is not set',
    'PAWL_PORT is wrong',
    'PAWL_LOG_LEVEL is wrong',
    'PAWL_PARTITIONS is wrong',
  ]) {
    expect(read).toThrow(name);
  }
});
