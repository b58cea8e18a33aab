"""Any other architecture (XLNet, DeBERTa, …) through transformers' AutoModel [extra: transformers].

Slower than an encoder of ours, since it pads; the vectors are those of transformers.
"""

from collections.abc import Iterator
from pathlib import Path

import torch
import transformers
from jaxtyping import Float
from torch import Tensor, nn

from ..errors import BadModel
from ..ragged import Ragged
from .encoder import Encoder

INCIDENTAL = ("_name_or_path", "architectures", "transformers_version", "dtype", "torch_dtype")  # change no vector
UNBOUNDED = 1 << 20  # for models whose positions are only relative


class AutoEncoder(Encoder):
    """A transformers model behind our interface: packed tokens in, layers out."""

    def __init__(self, folder: Path, dtype: torch.dtype) -> None:
        super().__init__()
        try:
            model, told = transformers.AutoModel.from_pretrained(
                folder,
                dtype=dtype,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                output_loading_info=True,
            )
        except (ValueError, OSError, RuntimeError) as error:
            raise BadModel(f"transformers cannot read {folder}: {error}") from error
        made = model.config
        both_halves = bool(getattr(made, "is_encoder_decoder", False))
        unread = ("pooler", "decoder.") if both_halves else ("pooler",)
        missing = sorted(n for n in told["missing_keys"] if not any(part in n for part in unread))
        if missing or told["mismatched_keys"]:
            what = (
                f"lacks {missing[0]}" if missing else f"holds {sorted(told['mismatched_keys'])[0][0]} in another shape"
            )
            raise BadModel(f"{folder} {what}, and transformers would fill it at random")
        self.without_decoder = both_halves
        self.model = (model.get_encoder() if both_halves else model).eval()
        positions = getattr(made, "max_position_embeddings", None)
        self.config = {key: value for key, value in made.to_dict().items() if key not in INCIDENTAL}
        self.width, self.depth = int(made.hidden_size), int(made.num_hidden_layers)
        self.vocabulary = int(self.model.get_input_embeddings().num_embeddings)
        self.longest = int(positions) - _first_position(model) if positions and positions > 0 else UNBOUNDED
        self.pad = self.config.get("pad_token_id") or 0

    def forward(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        ids = nn.utils.rnn.pad_sequence(list(tokens.split()), batch_first=True, padding_value=self.pad)
        real = torch.arange(ids.shape[1], device=ids.device)[None] < tokens.counts[:, None]
        states = self.model(input_ids=ids, attention_mask=real.long(), output_hidden_states=True).hidden_states
        for state in states:
            yield state[tokens.sentence, tokens.position]

    def save(self, folder: Path) -> None:
        """As transformers writes it."""
        self.model.save_pretrained(folder)


def _first_position(model: nn.Module) -> int:
    """Where positions begin: behind the padding's, in models that follow RoBERTa."""
    tables = (m for name, m in model.named_modules() if name.endswith("position_embeddings"))
    padding = next((m.padding_idx for m in tables if isinstance(m, nn.Embedding)), None)
    return 0 if padding is None else int(padding) + 1
