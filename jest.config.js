import { testPackages } from './test/support/packages.mjs';
import { PATIENCE } from './test/support/patience.mjs';

/** Tests run on the TypeScript sources; only the end-to-end tests start the built apps in dist/. */
const common = {
  testEnvironment: '<rootDir>/test/support/environment.mjs',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/support/transform.mjs' },
  moduleNameMapper: {
    '^#limiter/testing$': '<rootDir>/libs/limiter/testing/index.ts',
    '^#migrations$': '<rootDir>/migrations/index.ts',
    '^#(limiter|limiter-redis|enforcement|rules-db|rule-sync|platform|simulation|addresses|envoy|waiting|metrics|jwt|edge|node-middleware)$':
      '<rootDir>/libs/$1/src/index.ts',
    '^#node-middleware/nest$': '<rootDir>/libs/node-middleware/src/nest/index.ts',
    '^#scripts/(.*)$': '<rootDir>/scripts/$1',
    '^fast-check$': '<rootDir>/test/support/seeded-fast-check.mjs',
    ...testPackages(),
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.tollgate/'],
};

/** What measures milliseconds, or fills the machine on purpose: one file after the other, and nothing beside them. */
const ALONE = '<rootDir>/test/e2e/alone/';

/** Projects that talk to real services get them before their first test. */
const withServices = {
  ...common,
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
};

export default {
  maxWorkers: 3,
  // Of the tests of one file that say so themselves: they wait most of the time.
  maxConcurrency: 10,
  // Only to end what hangs: what a test waits for has its own deadline.
  testTimeout: 120_000 * PATIENCE,
  reporters: ['default', '<rootDir>/test/support/plain-reporter.mjs'],
  projects: [
    { ...common, displayName: 'unit', testMatch: ['<rootDir>/{apps,bench,libs,scripts,test/documents}/**/*.spec.ts'] },
    { ...withServices, displayName: 'integration', testMatch: ['<rootDir>/test/integration/**/*.spec.ts'] },
    {
      ...withServices,
      displayName: 'e2e',
      testEnvironment: '<rootDir>/test/support/e2e-environment.mjs',
      testMatch: ['<rootDir>/test/e2e/**/*.spec.ts'],
      testPathIgnorePatterns: [ALONE],
    },
    { ...withServices, displayName: 'faults', testMatch: ['<rootDir>/test/faults/**/*.spec.ts'] },
    { ...withServices, displayName: 'alone', testMatch: [`${ALONE}**/*.spec.ts`] },
  ],
};
