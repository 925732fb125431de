"""Training for a fixed time on one GPU: models of several directions take a step in turn.

    growth           a deeper encoder with the same function
    stacked_weights  a model's weights, matrices of the same shape in one tensor
    forward          the model as a function of these weights
    stacked_muon     the optimiser of these weights
    device_batches   batches gathered on the device
    trainer          the loop, whose learning rate follows the clock

The trainer of `training/` can be stopped and resumed and runs anywhere; this one is for a GPU that is there
for some minutes.
"""
