import { Module } from '@nestjs/common';
import { BucketsModule } from '../buckets/buckets.module.js';
import { MeController } from './me.controller.js';
import { MeService } from './me.service.js';

@Module({ imports: [BucketsModule], controllers: [MeController], providers: [MeService] })
export class MeModule {}
