#!/usr/bin/env node
import { run } from './program.js';

process.setSourceMapsEnabled(true);
await run(process.argv.slice(2));
