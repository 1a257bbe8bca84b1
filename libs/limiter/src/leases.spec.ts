import { describeLeaseLaw } from '../testing/index.js';

describeLeaseLaw(300);
