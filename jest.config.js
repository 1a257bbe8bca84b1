import { PATIENCE } from './test/support/patience.mjs';

/** Tests run on the TypeScript sources; only the end-to-end tests start the built apps in dist/. */
const common = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest'] },
  moduleNameMapper: {
    '^#limiter/testing$': '<rootDir>/libs/limiter/testing/index.ts',
    '^#migrations$': '<rootDir>/migrations/index.ts',
    '^#(limiter|limiter-redis|enforcement|rules-db|rule-sync|platform|simulation|addresses|waiting|metrics|jwt)$':
      '<rootDir>/libs/$1/src/index.ts',
    '^#scripts/(.*)$': '<rootDir>/scripts/$1',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.tollgate/'],
};

/** What measures milliseconds, starts gateways with the short time-outs of production, or fills the machine on purpose: one file after the other, and nothing beside them. */
const ALONE = ['<rootDir>/test/e2e/alone/', '<rootDir>/test/faults/'];

/** Projects that talk to real services get them before their first test. */
const withServices = {
  ...common,
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
};

export default {
  maxWorkers: 2,
  // Only to end what hangs: what a test waits for has its own deadline.
  testTimeout: 120_000 * PATIENCE,
  reporters: ['default', '<rootDir>/test/support/plain-reporter.mjs'],
  projects: [
    { ...common, displayName: 'unit', testMatch: ['<rootDir>/{apps,libs,scripts,test/documents}/**/*.spec.ts'] },
    { ...withServices, displayName: 'integration', testMatch: ['<rootDir>/test/integration/**/*.spec.ts'] },
    { ...withServices, displayName: 'e2e', testMatch: ['<rootDir>/test/e2e/**/*.spec.ts'], testPathIgnorePatterns: ALONE },
    { ...withServices, displayName: 'alone', testMatch: ALONE.map((folder) => `${folder}**/*.spec.ts`) },
  ],
};
