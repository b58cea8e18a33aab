/* How alike a sentence is to others, without Python: similarity FOLDER SENTENCE OTHER... */
#include <likewise_native.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
    char message[512];
    int32_t code;
    if (count < 4) return fprintf(stderr, "usage: similarity FOLDER SENTENCE OTHER...\n"), 2;
    lw_embedder* model = lw_open(arguments[1], NULL, &code, message, sizeof message);
    if (!model) return fprintf(stderr, "%s\n", message), 1;
    const lw_texts texts = {.texts = (const char* const*)arguments + 2, .count = count - 2};
    const int width = lw_dimension(model);
    float* vectors = malloc((size_t)texts.count * width * sizeof *vectors);
    lw_losses losses = {0};
    if (!vectors || lw_encode(model, &texts, vectors, &losses, message, sizeof message))
        return fprintf(stderr, "%s\n", vectors ? message : "there is not enough memory"), 1;
    if (losses.cut) fprintf(stderr, "%d sentences were cut: the model reads only their beginning\n", (int)losses.cut);
    for (int i = 1; i < count - 2; i++) {
        float cosine = 0; /* of vectors of length 1 */
        for (int j = 0; j < width; j++) cosine += vectors[j] * vectors[i * width + j];
        printf("%.4f  %s\n", cosine, texts.texts[i]);
    }
    free(vectors);
    lw_close(model);
    return 0;
}
