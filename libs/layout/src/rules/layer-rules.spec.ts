import { type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { layerRules } from './layer-rules.ts';

const broken: readonly RuleCase[] = [
  {
    rule: 'perLayerRangesAreLayers',
    layout: {
      perLayer: [
        { firstLayer: 0, lastLayer: 15 },
        { firstLayer: 15, lastLayer: 31 },
      ],
    },
    message: 'perLayer.1: layer 15 is in an earlier range too; start after it',
    waysOut: [
      {
        layout: {
          perLayer: [
            { firstLayer: 0, lastLayer: 15 },
            { firstLayer: 16, lastLayer: 31 },
          ],
        },
      },
    ],
  },
  {
    rule: 'perLayerRangesAreLayers',
    layout: { perLayer: [{ firstLayer: 16, lastLayer: 32 }] },
    message:
      'perLayer.0: layers 16 to 32 are not a range of a model of 32 layers, counted from 0; the last legal is 31',
    waysOut: [{ layout: { perLayer: [{ firstLayer: 16, lastLayer: 31 }] } }],
  },
  {
    rule: 'perLayerRangesAreLayers',
    layout: { perLayer: [{ firstLayer: 9, lastLayer: 3 }] },
    message: 'perLayer.0: layers 9 to 3 are not a range of a model of 32 layers, counted from 0; the last legal is 31',
    waysOut: [{ layout: { perLayer: [{ firstLayer: 9, lastLayer: 31 }] } }],
  },
  {
    rule: 'perLayerRangesAreLayers',
    layout: { tensorParallelDegree: 4, dataParallelDegree: 2, perLayer: [{ tensorParallelDegree: 3 }] },
    facts: { globalBatchSize: undefined },
    message:
      'perLayer.0: tensor times context parallelism 3 does not divide the 8 ranks of a stage; the nearest that does is 2',
    waysOut: [{ layout: { perLayer: [{ tensorParallelDegree: 2 }] } }],
  },
  {
    rule: 'smallestDegreesDivideGlobalBatch',
    layout: { tensorParallelDegree: 4, dataParallelDegree: 2, perLayer: [{ tensorParallelDegree: 1 }] },
    facts: { globalBatchSize: 12 },
    message:
      'the layers with the smallest degrees split the batch 8 ways, which do not divide globalBatchSize 12; the nearest number of ways is 6',
    waysOut: [{ layout: { tensorParallelDegree: 2, dataParallelDegree: 3 } }, { facts: { globalBatchSize: 8 } }],
  },
];

const legal: readonly LegalCase[] = [
  ['a range of one layer, the last', { perLayer: [{ firstLayer: 31, lastLayer: 31 }] }],
  [
    'an embedding that is divided in another way',
    { tensorParallelDegree: 4, perLayer: [{ part: 'embedding', tensorParallelDegree: 2 }] },
  ],
  [
    'layers of the smallest degrees that give each way one sample',
    { tensorParallelDegree: 4, dataParallelDegree: 2, perLayer: [{ tensorParallelDegree: 1 }] },
    { globalBatchSize: 8 },
  ],
];

describe('rules of layers that differ', () => {
  showRules({ rules: layerRules, broken, legal });
});
