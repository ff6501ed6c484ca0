"""The architectures a model can start from, as functions from size knobs to a sketch.

One module a family. Each takes a width and a depth (0 to 15; more does not mean larger without
end) and gives the graph with its characteristic blocks, small enough to compile in seconds.
`rondo.models.grow` goes on with the records of the test case.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.models.architectures.efficient import convnext, efficientnet, mobilenet, shufflenet
from rondo.models.architectures.generative import dcgan_generator, unet, variational_autoencoder
from rondo.models.architectures.patches import mixture_of_experts, mlp_mixer, vision_transformer
from rondo.models.architectures.small import (
    autoencoder,
    embedding_pool,
    lstm,
    mlp,
    nothing,
    small_cnn,
    transformer,
)
from rondo.models.architectures.text import (
    bert_encoder,
    gpt_decoder,
    gru_seq2seq,
    llama,
    t5,
    text_cnn,
)
from rondo.models.architectures.vision import (
    densenet,
    googlenet,
    lenet,
    resnet,
    squeezenet,
    vgg,
)
from rondo.models.sketch import Sketch

ARCHITECTURES: dict[str, Callable[[int, int], Sketch]] = {
    make.__name__: make
    for make in (
        *(nothing, mlp, small_cnn, transformer, lstm, embedding_pool, autoencoder),
        *(lenet, vgg, resnet, densenet, googlenet, squeezenet),
        *(mobilenet, shufflenet, efficientnet, convnext),
        *(unet, variational_autoencoder, dcgan_generator),
        *(text_cnn, gru_seq2seq, bert_encoder, gpt_decoder, t5, llama),
        *(vision_transformer, mlp_mixer, mixture_of_experts),
    )
}
"""Every architecture by name, in the order of the byte format."""
