import { Module } from '@nestjs/common';
import { SwitchesController } from './switches.controller.js';
import { SwitchesService } from './switches.service.js';

@Module({ controllers: [SwitchesController], providers: [SwitchesService] })
export class SwitchesModule {}
