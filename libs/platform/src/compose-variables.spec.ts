import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { APPS, type Variable } from './variables/variable.js';
import { VARIABLES } from './variables/variables.js';

/** What an operator cannot set in docker-compose.yml, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  RULES_API_HOST: 'the image listens on all addresses of its container',
  GATEWAY_HOST: 'the image listens on all addresses of its container',
  DECISION_API_HOST: 'the image listens on all addresses of its container',
  MANAGEMENT_HOST: 'the image listens on all addresses of its container',
  RULES_API_PORT: 'the port of the container is fixed; the name is that of the published port',
  GATEWAY_PORT: 'the port of the container is fixed; the name is that of the published port',
  GATEWAY_MANAGEMENT_PORT: 'the port of the container is fixed; the name is that of the published port',
  DECISION_API_PORT: 'the port of the container is fixed; the name is that of the published port',
  DECISION_API_GRPC_PORT: 'the port of the container is fixed; the name is that of the published port',
  DECISION_API_MANAGEMENT_PORT: 'the port of the container is fixed; the name is that of the published port',
  PRELOADER_MANAGEMENT_PORT: 'the port of the container is fixed; the name is that of the published port',
  TOLLGATE_DATA_DIR: 'only npm start keeps data in a folder',
  SHUTDOWN_GRACE_MS: 'it has to be shorter than stop_grace_period, which stands beside it',
};

const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Readonly<Record<string, { readonly environment: Readonly<Record<string, string>> }>>;
};
const variables: readonly Variable<unknown>[] = Object.values(VARIABLES);

describe.each(APPS)('the service %s of docker-compose.yml', (app) => {
  const { environment } = services[app]!;
  const ofApp = variables.filter(({ apps }) => apps.includes(app)).map(({ name }) => name);

  it('passes every variable that the app reads, unless it is left out for a reason', () => {
    expect(ofApp.filter((name) => !(name in environment) && !(name in LEFT_OUT))).toEqual([]);
  });

  it('passes nothing that the app does not read', () => {
    expect(Object.keys(environment).filter((name) => !ofApp.includes(name))).toEqual([]);
  });

  it('takes a variable from the one of the same name, and repeats no default', () => {
    const taken = Object.entries(environment).filter(([, value]) => /^\$\{[A-Z0-9_]+:-\}$/.test(value));
    expect(taken.map(([name]) => name)).toEqual(expect.arrayContaining(['MANAGEMENT_TOKEN']));
    for (const [name, value] of taken) expect(value).toBe(`\${${name}:-}`);
  });

  it('requires what has no default', () => {
    for (const { name, default: byDefault, defaultFrom } of variables.filter(({ name: each }) => ofApp.includes(each)))
      if (byDefault === undefined && defaultFrom === undefined)
        expect([name, environment[name]]).toEqual([name, expect.stringMatching(/./)]);
  });
});

it('every variable that is left out exists', () => {
  expect(Object.keys(LEFT_OUT).filter((left) => !variables.some(({ name }) => name === left))).toEqual([]);
});
