import { Module } from '@nestjs/common';
import { TopKeysController } from './top-keys.controller.js';
import { TopKeysService } from './top-keys.service.js';
import { UsageController } from './usage.controller.js';
import { UsageService } from './usage.service.js';

@Module({ controllers: [UsageController, TopKeysController], providers: [UsageService, TopKeysService] })
export class UsageModule {}
